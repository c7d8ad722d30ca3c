// SPDX-License-Identifier: MIT
#include "program/private_view.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace reap::spawn {
namespace {

/// Contents beyond this are not read: then there is no digest.
constexpr std::uint64_t max_hashed_bytes = 256 << 20;

bool write_file(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool done = write(file, text, std::strlen(text)) == static_cast<ssize_t>(std::strlen(text));
    const int error = errno;
    close(file);
    errno = error;
    return done;
}

/// In a user namespace of its own, with the same numbers for the user and the group.
bool separate_as_user() {
    const unsigned user = geteuid();
    const unsigned group = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    char users[64];
    char groups[64];
    std::snprintf(users, sizeof users, "%u %u 1", user, user);
    std::snprintf(groups, sizeof groups, "%u %u 1", group, group);
    return write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", users) &&
           write_file("/proc/self/gid_map", groups);
}

/// Adds what a folder holds to the digest and the size.
class Walk {
  public:
    Walk() { XXH3_128bits_reset(&hash_); }

    void folder(int at, const char *name) {
        const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *entries = fd < 0 ? nullptr : fdopendir(fd);
        if (entries == nullptr) {
            complete_ = false;
            return;
        }
        std::vector<std::string> names;
        while (const dirent *entry = readdir(entries)) {
            if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
                names.emplace_back(entry->d_name);
        }
        std::sort(names.begin(), names.end());
        add("(", 1);
        for (const std::string &each : names) entry(fd, each.c_str());
        add(")", 1);
        closedir(entries);
    }

    void report(Result &result) const {
        result.written_bytes = static_cast<std::int64_t>(bytes_);
        if (!complete_) return;
        const XXH128_hash_t hash = XXH3_128bits_digest(&hash_);
        std::snprintf(result.written_digest, sizeof result.written_digest, "%016llx%016llx",
                      static_cast<unsigned long long>(hash.high64),
                      static_cast<unsigned long long>(hash.low64));
    }

  private:
    void add(const void *data, std::size_t length) { XXH3_128bits_update(&hash_, data, length); }

    void entry(int at, const char *name) {
        struct stat status{};
        if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        bytes_ += static_cast<std::uint64_t>(status.st_blocks) * 512;
        add(name, std::strlen(name) + 1);
        add(&status.st_mode, sizeof status.st_mode);
        if (S_ISDIR(status.st_mode)) {
            folder(at, name);
        } else if (S_ISLNK(status.st_mode)) {
            char target[PATH_MAX];
            const ssize_t length = readlinkat(at, name, target, sizeof target);
            if (length > 0) add(target, static_cast<std::size_t>(length));
        } else if (S_ISREG(status.st_mode)) {
            content(at, name);
        }
    }

    void content(int at, const char *name) {
        const int file = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        static char buffer[1 << 16];
        ssize_t got = -1;
        while (file >= 0 && hashed_ <= max_hashed_bytes && (got = read(file, buffer, sizeof buffer)) > 0) {
            add(buffer, static_cast<std::size_t>(got));
            hashed_ += static_cast<std::uint64_t>(got);
        }
        complete_ = complete_ && got == 0;
        if (file >= 0) close(file);
    }

    XXH3_state_t hash_;
    std::uint64_t bytes_ = 0;
    std::uint64_t hashed_ = 0;
    bool complete_ = true;
};

} // namespace

bool PrivateView::enter(const Options &options, Result &result) {
    const auto fail = [&result](const char *step) {
        result.failed_errno = errno != 0 ? errno : EINVAL;
        result.failed_step = step;
        return false;
    };
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == nullptr) return fail("getcwd");
    if (unshare(CLONE_NEWNS) != 0) {
        if (errno != EPERM) return fail("unshare");
        if (!separate_as_user()) return fail("user namespace");
        in_user_namespace_ = true;
    }
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return fail("private mounts");
    if (mount("tmpfs", options.private_at, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") != 0)
        return fail("tmpfs");
    const int memory = open(options.private_at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (memory < 0) return fail("tmpfs");
    for (int i = 0; i < options.private_folders; ++i) {
        if (!cover(options.private_folder[i], i, memory)) return fail("overlay");
    }
    // The overlays keep it; a path to it would be one more thing that the program could see.
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    if (umount2(path, MNT_DETACH) != 0) return fail("umount");
    close(memory);
    // The program must not pay for the copy that its first write to a file makes.
    for (int i = 0; i < options.copied_files; ++i) {
        const int file = open(options.copied_file[i], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (file >= 0) close(file);
    }
    return chdir(here) == 0 || fail("chdir"); // by its path, which may lead into an overlay now
}

bool PrivateView::cover(const char *folder, int number, int memory) {
    const int lower = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status{};
    char upper[32];
    char work[32];
    std::snprintf(upper, sizeof upper, "upper%d", number);
    std::snprintf(work, sizeof work, "work%d", number);
    if (lower < 0 || fstat(lower, &status) != 0 || mkdirat(memory, upper, 0700) != 0 ||
        mkdirat(memory, work, 0700) != 0)
        return false;
    const int changes = openat(memory, upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (changes < 0) return false;
    // The folder itself looks as it did. Another owner is not to be had in a user namespace.
    (void)!fchown(changes, status.st_uid, status.st_gid);
    const timespec times[2] = {status.st_atim, status.st_mtim};
    if (fchmod(changes, status.st_mode & 07777) != 0 || futimens(changes, times) != 0) return false;
    // By descriptors: paths may have characters that the options would split at.
    char options[256];
    std::snprintf(options, sizeof options,
                  "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d/%s,workdir=/proc/self/fd/%d/%s%s",
                  lower, memory, upper, memory, work, in_user_namespace_ ? ",userxattr" : "");
    if (mount("overlay", folder, "overlay", 0, options) != 0) return false;
    close(lower);
    changes_[count_++] = changes;
    return true;
}

void PrivateView::measure(Result &result) const {
    if (count_ == 0) return;
    Walk walk;
    for (int i = 0; i < count_; ++i) walk.folder(changes_[i], ".");
    walk.report(result);
}

} // namespace reap::spawn
