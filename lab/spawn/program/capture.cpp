// SPDX-License-Identifier: MIT
#include "program/capture.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace reap::spawn {
namespace {

// In .bss, and touched by the parent alone after the fork: it does not count in the program's peak memory.
char buffer[1 << 18];

constexpr int reads_at_a_time = 8;

} // namespace

bool Capture::drain() {
    bool any = false;
    for (int i = 0; i < reads_at_a_time && fd_ >= 0; ++i) {
        const ssize_t got = read(fd_, buffer, sizeof buffer);
        if (got > 0) {
            const std::size_t length = static_cast<std::size_t>(got);
            XXH3_128bits_update(&hash_, buffer, length);
            keep_tail(buffer, length);
            append(buffer, length);
            bytes_ += length;
            any = true;
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        } else {
            close(fd_);
            fd_ = -1;
        }
    }
    return any;
}

void Capture::keep_tail(const char *data, std::size_t length) {
    // A ring: the byte numbered n of the stream is at n % tail_bytes.
    std::uint64_t at = bytes_;
    if (length > tail_bytes) {
        at += length - tail_bytes;
        data += length - tail_bytes;
        length = tail_bytes;
    }
    const std::size_t start = static_cast<std::size_t>(at % tail_bytes);
    const std::size_t first = length < tail_bytes - start ? length : tail_bytes - start;
    std::memcpy(tail_ + start, data, first);
    std::memcpy(tail_, data + first, length - first);
}

void Capture::append(const char *data, std::size_t length) const {
    if (file_ < 0 || bytes_ >= most_kept) return;
    if (length > most_kept - bytes_) length = static_cast<std::size_t>(most_kept - bytes_);
    while (length > 0) {
        const ssize_t done = write(file_, data, length);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return; // a full disk: the program's run matters more
        data += done;
        length -= static_cast<std::size_t>(done);
    }
}

void Capture::digest(char (&text)[digest_bytes]) const {
    const XXH128_hash_t value = XXH3_128bits_digest(&hash_);
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(value.high64),
                  static_cast<unsigned long long>(value.low64));
}

std::size_t Capture::tail(char (&text)[tail_bytes]) const {
    if (bytes_ < tail_bytes) {
        const std::size_t length = static_cast<std::size_t>(bytes_);
        std::memcpy(text, tail_, length);
        return length;
    }
    const std::size_t start = static_cast<std::size_t>(bytes_ % tail_bytes);
    std::memcpy(text, tail_ + start, tail_bytes - start);
    std::memcpy(text + tail_bytes - start, tail_, start);
    return tail_bytes;
}

} // namespace reap::spawn
