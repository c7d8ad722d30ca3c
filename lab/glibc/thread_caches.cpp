#include "thread_caches.h"

#include <cstring>

#include "memory_view.h"

namespace reap::glibc {
namespace {

constexpr uint64_t lists = 64;
constexpr uint64_t header = 16;   // of a chunk in use
constexpr uint64_t smallest = 32; // chunk
constexpr uint64_t bits = 7;      // of a size that are flags

constexpr uint64_t size_of_list(uint64_t list) noexcept { return smallest + list * 16; }

// Of a cache in use, one list may be about to change.
constexpr unsigned most_odd = 1;

bool is_resident(uint64_t address) noexcept {
    unsigned char there = 0;
    return find_resident(round_down(address), 1, &there) && (there & 1) != 0;
}

// Whether the block lies in a chunk of that size.
bool is_of_size(uint64_t block, uint64_t size) noexcept {
    uint64_t head = 0;
    const uint64_t at = block - sizeof head;
    return block % header == 0 && is_resident(at) && read_memory(at, &head, sizeof head) &&
           (head & ~bits) == size;
}

} // namespace

ThreadCaches::ThreadCaches(unsigned minor) noexcept {
    if (minor < 26 || minor > 41) return;
    count_bytes_ = minor < 30 ? 1 : 2;
    chunk_bytes_ = header + lists * (count_bytes_ + sizeof(uint64_t));
}

void ThreadCaches::look_into(uint64_t chunk) noexcept {
    unsigned char text[lists * 10];
    const uint64_t length = lists * (count_bytes_ + sizeof(uint64_t));
    const uint64_t begin = chunk + header;
    // The chunk's head was read, so that its page is there; the next may be one that was never written to.
    if (round_down(begin) != round_down(begin + length - 1) && !is_resident(begin + length - 1)) return;
    if (!read_memory(begin, text, length)) return;
    uint64_t sum = 0;
    unsigned odd = 0;
    for (uint64_t list = 0; list < lists && odd <= most_odd; ++list) {
        uint64_t count = 0;
        uint64_t block = 0;
        memcpy(&count, text + list * count_bytes_, count_bytes_);
        memcpy(&block, text + lists * count_bytes_ + list * sizeof block, sizeof block);
        if ((count == 0) == (block == 0) && (block == 0 || is_of_size(block, size_of_list(list)))) {
            sum += count * size_of_list(list);
        } else {
            ++odd;
        }
    }
    if (odd > most_odd || sum == 0) return;
    ++caches_;
    bytes_ += sum;
}

} // namespace reap::glibc
