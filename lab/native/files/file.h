// Opening and reading files that measured programs wrote, and may still write to or cut short: by read calls
// alone, because a mapping of a file that shrinks ends in SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace reap::native {

// The file is not what it should be, or of a version that this reader does not know. The message is for the
// user.
class BadTrace : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A file descriptor with an owner.
class Descriptor {
  public:
    explicit Descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
    ~Descriptor();
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    [[nodiscard]] int get() const noexcept { return descriptor_; }

  private:
    int descriptor_;
};

// A regular file, open for reading.
class File {
  public:
    // Throws std::system_error when it cannot be opened, and BadTrace when it is not a regular file.
    explicit File(const std::string &path);

    // How long it was when it was opened, or measured again.
    [[nodiscard]] uint64_t size() const noexcept { return size_; }
    void measure() noexcept;

    // Reads up to `length` bytes from `offset`; returns how many there were: fewer at its end, or after an
    // error.
    size_t read_at(void *out, size_t length, uint64_t offset) const noexcept;

  private:
    Descriptor file_;
    uint64_t size_ = 0;
};

// Writes all of it at `offset`. Throws std::system_error with `path`: where the disk is full a first write
// may be short and have no errno, but the next has.
void write_all(const Descriptor &file, const void *bytes, size_t length, uint64_t offset,
               const std::string &path);

// The text in a field of fixed size: up to its first zero byte.
std::string field_text(const char *field, size_t size);

} // namespace reap::native
