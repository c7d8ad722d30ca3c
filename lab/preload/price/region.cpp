#include "region.h"

#include <sys/resource.h>

namespace reap::preload {
namespace {

// Less than a huge page, so that the kernel makes huge pages of it no sooner than of a growing heap.
constexpr size_t kGrowth = size_t{1} << 20;

// Most of a limit stays the program's, whose large blocks and stacks need it.
constexpr size_t kShareOfLimit = 4;

size_t round_up(size_t bytes, size_t to) noexcept { return (bytes + to - 1) & ~(to - 1); }

} // namespace

bool Region::reserve(size_t bytes) noexcept {
    const ErrnoGuard keep;
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur / kShareOfLimit) {
        bytes = limit.rlim_cur / kShareOfLimit;
    }
    for (; bytes >= kGrowth; bytes /= 4) {
        bytes &= ~(kGranule - 1);
        void *const memory =
            mmap(nullptr, bytes + kGranule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) continue;
        base_ = round_up(reinterpret_cast<uintptr_t>(memory), kGranule);
        size_ = bytes;
        return true;
    }
    return false;
}

void *Region::take(size_t bytes) noexcept {
    const LockGuard guard(lock_);
    if (bytes > size_ - taken_) return nullptr;
    const size_t end = taken_ + bytes;
    if (end > usable_) {
        size_t grown = round_up(end, kGrowth);
        if (grown > size_) grown = size_;
        void *const from = reinterpret_cast<void *>(base_ + usable_);
        if (mprotect(from, grown - usable_, PROT_READ | PROT_WRITE) != 0) return nullptr;
        usable_ = grown;
    }
    void *const memory = reinterpret_cast<void *>(base_ + taken_);
    taken_ = end;
    return memory;
}

} // namespace reap::preload
