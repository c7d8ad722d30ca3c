// Concern: of what a program names, regular files alone are opened, and no file by another user's link that
// is not that user's.
#include "files/regular.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"

namespace {

namespace fs = std::filesystem;
using reap::native::Descriptor;
using reap::native::Links;
using reap::native::open_regular;

class RegularFiles : public testing::Test {
  protected:
    RegularFiles() {
        std::string made = "/tmp/reap-regular-XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) std::abort();
        folder_ = made;
        fs::create_directory(folder_ / "inner");
        std::ofstream(folder_ / "inner" / "file") << "text";
    }
    ~RegularFiles() override { fs::remove_all(folder_); }

    [[nodiscard]] fs::path link(const char *name, const fs::path &target) const {
        fs::create_symlink(target, folder_ / name);
        return folder_ / name;
    }

    fs::path folder_;
};

// 0, or why it is not opened.
int refusal(const std::string &path, Links links = Links::Owned) {
    const Descriptor opened(open_regular(path, links));
    return opened.get() >= 0 ? 0 : errno;
}

TEST_F(RegularFiles, AreOpenedByEveryName) {
    EXPECT_EQ(refusal(folder_ / "inner/file"), 0);
    EXPECT_EQ(refusal(folder_ / "inner/../inner//./file"), 0);
    EXPECT_EQ(refusal("/../../proc/self/exe"), 0);
    EXPECT_EQ(refusal("/proc/self/root" + (folder_ / "inner/file").string()), 0);
    const fs::path before = fs::current_path();
    fs::current_path(folder_);
    EXPECT_EQ(refusal("inner/file"), 0);
    fs::current_path(before);
}

TEST_F(RegularFiles, HaveLinksOfTheirOwnUser) {
    EXPECT_EQ(refusal(link("file", "inner/file")), 0);
    EXPECT_EQ(refusal(link("folder", folder_ / "inner") / "file"), 0);
    EXPECT_EQ(refusal(folder_ / "folder/file", Links::Folders), 0);
    EXPECT_EQ(refusal(folder_ / "file", Links::Folders), ELOOP);
    EXPECT_EQ(refusal(link("round", "round")), ELOOP);
}

TEST_F(RegularFiles, AreNothingElse) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(refusal(folder_ / "pipe"), EINVAL); // and does not wait
    EXPECT_EQ(refusal(link("zeros", "/dev/zero")), EINVAL);
    EXPECT_EQ(refusal("/dev/null"), EINVAL);
    EXPECT_EQ(refusal(folder_), EINVAL);
    EXPECT_EQ(refusal("/"), EINVAL);
    EXPECT_EQ(refusal(folder_ / "none"), ENOENT);
    EXPECT_EQ(refusal(folder_ / "inner/file/more"), ENOTDIR);
    EXPECT_EQ(refusal(std::string("/etc/passwd\0.c", 14)), EINVAL);
    EXPECT_EQ(refusal(""), EINVAL);
}

TEST_F(RegularFiles, AreNotLentByAnothersLink) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's link";
    constexpr uid_t kNobody = 65534;
    const fs::path theirs = link("theirs", "inner/file");
    const fs::path folder = link("their-folder", "inner");
    ASSERT_EQ(::lchown(theirs.c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(::lchown(folder.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(refusal(theirs), ELOOP);
    EXPECT_EQ(refusal(folder / "file"), ELOOP);
    EXPECT_EQ(refusal(link("ours", "theirs")), ELOOP);
    ASSERT_EQ(::chown((folder_ / "inner/file").c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(refusal(theirs), 0) << "a link to a file of one's own";
}

} // namespace
