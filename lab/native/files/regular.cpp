#include "files/regular.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reap::native {
namespace {

constexpr int kMostLinks = 40; // as the kernel follows

// A descriptor that can be replaced.
class Place {
  public:
    explicit Place(int descriptor = -1) noexcept : descriptor_(descriptor) {}
    ~Place() {
        const int kept = errno;
        if (descriptor_ >= 0) ::close(descriptor_);
        errno = kept;
    }
    Place(const Place &) = delete;
    Place &operator=(const Place &) = delete;
    Place(Place &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Place &operator=(Place &&other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }

    [[nodiscard]] int get() const noexcept { return descriptor_; }
    [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
    [[nodiscard]] Place copy() const { return Place(::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)); }
    [[nodiscard]] struct stat status() const {
        struct stat found{};
        if (::fstat(descriptor_, &found) != 0) found.st_mode = 0;
        return found;
    }
    [[nodiscard]] bool same(const Place &other) const {
        const struct stat own = status();
        const struct stat its = other.status();
        return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
    }
    // The kernel's own links lead to files that a process has, whatever their text says.
    [[nodiscard]] bool in_proc() const {
        struct statfs found{};
        return ::fstatfs(descriptor_, &found) == 0 && found.f_type == PROC_SUPER_MAGIC;
    }
    [[nodiscard]] std::string target() const {
        char text[PATH_MAX];
        const ssize_t length = ::readlinkat(descriptor_, "", text, sizeof text);
        return {text, length > 0 ? static_cast<size_t>(length) : 0};
    }

  private:
    int descriptor_;
};

// Goes along a path, a name at a time: what a name stands for cannot change once it is open.
class Walk {
  public:
    Walk(const std::string &path, Links links)
        : links_(links), rest_(path), root_(::open("/", kFolder)),
          at_(path.starts_with('/') ? root_.copy() : Place(::open(".", kFolder))) {}

    int open() {
        while (at_.get() >= 0 && root_.get() >= 0) {
            const std::string name = next_name();
            if (name.empty()) break; // it ends as a folder's does
            if (name == ".." && at_.same(root_)) continue;
            // Opened as a folder first, which mounts what is mounted when it is needed.
            Place found(rest_.empty() ? -1 : ::openat(at_.get(), name.c_str(), kFolder | O_NOFOLLOW));
            if (found.get() < 0)
                found = Place(::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
            if (found.get() < 0) return -1;
            const bool link = S_ISLNK(found.status().st_mode);
            const bool kernels = link && found.in_proc();
            if (link && !kernels) {
                if (!follow(found)) return refuse(ELOOP);
                continue;
            }
            if (kernels) found = Place(::openat(at_.get(), name.c_str(), O_PATH | O_CLOEXEC));
            if (found.get() < 0) return -1;
            if (rest_.empty()) return open_last(name, found, kernels ? 0 : O_NOFOLLOW);
            if (kernels && name == "root") root_ = found.copy();
            at_ = std::move(found);
        }
        return at_.get() < 0 || root_.get() < 0 ? -1 : refuse(EINVAL);
    }

  private:
    static constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;

    static int refuse(int why) {
        errno = why;
        return -1;
    }

    std::string next_name() {
        rest_.erase(0, rest_.find_first_not_of('/'));
        std::string name = rest_.substr(0, rest_.find('/'));
        rest_.erase(0, name.size());
        rest_.erase(0, rest_.find_first_not_of('/'));
        return name;
    }

    bool follow(const Place &link) {
        std::string target = link.target();
        if ((links_ == Links::Folders && rest_.empty()) || target.empty() || owners_.size() == kMostLinks)
            return false;
        owners_.push_back(link.status().st_uid);
        if (target.starts_with('/')) at_ = root_.copy();
        if (!rest_.empty()) target += '/' + rest_;
        rest_ = std::move(target);
        return true;
    }

    // Opens what was seen, if the name still stands for it.
    int open_last(const std::string &name, const Place &seen, int flags) const {
        const struct stat status = seen.status();
        if (!S_ISREG(status.st_mode)) return refuse(EINVAL);
        const auto trusted = [&status](uid_t owner) {
            return owner == 0 || owner == ::geteuid() || owner == status.st_uid;
        };
        if (!std::ranges::all_of(owners_, trusted)) return refuse(ELOOP);
        Place file(::openat(at_.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags));
        if (file.get() < 0) return -1;
        return file.same(seen) ? file.release() : refuse(EINVAL);
    }

    Links links_;
    std::string rest_;
    Place root_;
    Place at_;
    std::vector<uid_t> owners_; // of the links on the way
};

} // namespace

int open_regular(const std::string &path, Links links) {
    if (path.find('\0') != std::string::npos) {
        errno = EINVAL;
        return -1;
    }
    return Walk(path, links).open();
}

} // namespace reap::native
