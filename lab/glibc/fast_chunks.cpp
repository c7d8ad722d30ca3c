#include "fast_chunks.h"

#include <sys/mman.h>

namespace reap::glibc {

bool FastChunks::reserve(uint64_t bytes, uint64_t heaps) noexcept {
    clear();
    const uint64_t needed = bytes / span + heaps + 2; // the main heap begins and ends within a span
    if (needed > most) return false;
    void *const memory = mmap(nullptr, needed * map_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    madvise(memory, needed * map_bytes, MADV_NOHUGEPAGE);
    maps_ = static_cast<unsigned char *>(memory);
    room_ = needed;
    return true;
}

void FastChunks::clear() noexcept {
    if (maps_ != nullptr) munmap(maps_, room_ * map_bytes);
    maps_ = nullptr;
    room_ = used_ = last_ = 0;
}

unsigned char *FastChunks::map_of(uint64_t chunk, bool make) noexcept {
    const uint64_t wanted = chunk / span;
    if (last_ < used_ && spans_[last_] == wanted) return maps_ + last_ * map_bytes;
    for (uint64_t i = 0; i < used_; ++i) {
        if (spans_[i] != wanted) continue;
        last_ = i;
        return maps_ + i * map_bytes;
    }
    if (!make || used_ == room_) return nullptr;
    last_ = used_++;
    spans_[last_] = wanted;
    return maps_ + last_ * map_bytes;
}

void FastChunks::add(uint64_t chunk) noexcept {
    unsigned char *const map = map_of(chunk, true);
    if (map == nullptr) return;
    const uint64_t at = chunk % span / 16;
    map[at / 8] = static_cast<unsigned char>(map[at / 8] | 1U << at % 8);
}

bool FastChunks::contains(uint64_t chunk) noexcept {
    if (used_ == 0) return false;
    const unsigned char *const map = map_of(chunk, false);
    const uint64_t at = chunk % span / 16;
    return map != nullptr && (map[at / 8] >> at % 8 & 1) != 0;
}

} // namespace reap::glibc
