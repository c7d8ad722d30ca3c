/* A program's output: counted, hashed, and discarded or kept.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_CAPTURE_H
#define REAP_SPAWN_CAPTURE_H

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reap::spawn {

/// One captured stream. Uses constant memory.
class Capture {
  public:
    static constexpr std::size_t tail_bytes = 2048;
    static constexpr std::size_t digest_bytes = 33;
    static constexpr std::uint64_t most_kept = 16 << 20;

    Capture() { XXH3_128bits_reset(&hash_); }

    /// Takes the read end of a pipe, which must not block; -1 for a stream that is not captured.
    void open(int fd) { fd_ = fd; }

    /// Has what is read appended to a file, too, up to `most_kept` bytes; it stays open.
    void keep(int file) { file_ = file; }

    int fd() const { return fd_; }
    std::uint64_t bytes() const { return bytes_; }

    /// Reads what is available, a bounded amount per call so that the caller is not held up. Closes the
    /// stream at its end. Returns whether anything was read.
    bool drain();

    /// XXH3-128 of everything so far, in hexadecimal (as xxhsum -H2 prints it).
    void digest(char (&text)[digest_bytes]) const;

    /// Copies the last bytes of the stream to `text`, oldest first; returns how many.
    std::size_t tail(char (&text)[tail_bytes]) const;

  private:
    void keep_tail(const char *data, std::size_t length);
    void append(const char *data, std::size_t length) const;

    int fd_ = -1;
    int file_ = -1;
    std::uint64_t bytes_ = 0;
    XXH3_state_t hash_;
    char tail_[tail_bytes] = {};
};

} // namespace reap::spawn

#endif
