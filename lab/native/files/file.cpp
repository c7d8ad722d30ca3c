#include "files/file.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "files/regular.h"

namespace reap::native {

Descriptor::~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

File::File(const std::string &path) : file_(open_regular(path)) {
    if (file_.get() < 0 && errno == EINVAL) throw BadTrace("it is not a regular file");
    if (file_.get() < 0 && errno == ELOOP) throw BadTrace("another user's link leads to it");
    if (file_.get() < 0) throw std::system_error(errno, std::generic_category(), path);
    measure();
}

void File::measure() noexcept {
    struct stat status{};
    if (::fstat(file_.get(), &status) == 0) size_ = static_cast<uint64_t>(status.st_size);
}

size_t File::read_at(void *out, size_t length, uint64_t offset) const noexcept {
    size_t done = 0;
    while (done < length) {
        const ssize_t got = ::pread(file_.get(), static_cast<char *>(out) + done, length - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<size_t>(got);
    }
    return done;
}

void write_all(const Descriptor &file, const void *bytes, size_t length, uint64_t offset,
               const std::string &path) {
    for (size_t done = 0; done < length;) {
        const ssize_t wrote = ::pwrite(file.get(), static_cast<const char *>(bytes) + done, length - done,
                                       static_cast<off_t>(offset + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) throw std::system_error(errno, std::generic_category(), path);
        done += static_cast<size_t>(wrote);
    }
}

std::string field_text(const char *field, size_t size) { return {field, ::strnlen(field, size)}; }

} // namespace reap::native
