#include "windows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::drag {
namespace {

constexpr size_t kPage = 4096;

size_t whole_pages(size_t bytes) noexcept { return (bytes + kPage - 1) & ~(kPage - 1); }

// How many slots a run has, as a power of two.
unsigned length_of(size_t bytes) noexcept {
    const size_t slots = (bytes + Windows::kSlot - 1) / Windows::kSlot;
    return slots <= 1 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(slots - 1));
}

} // namespace

char *Windows::map_another() const noexcept {
    const long file = syscall(SYS_memfd_create, "reap-drag", 1u /* MFD_CLOEXEC */);
    if (file < 0) return nullptr;
    void *memory = MAP_FAILED;
    // A process whose files may not grow gets a signal for ftruncate, which would end it.
    if (preload::may_grow_to(size_) && ftruncate(static_cast<int>(file), static_cast<off_t>(size_)) == 0) {
        memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      static_cast<int>(file), 0);
    }
    preload::close_quietly(static_cast<int>(file));
    if (memory == MAP_FAILED) return nullptr;
    // A huge page would hold more than one object; a core file would hold gigabytes of nothing.
    madvise(memory, size_, MADV_NOHUGEPAGE);
    madvise(memory, size_, MADV_DONTDUMP);
    return static_cast<char *>(memory);
}

bool Windows::reserve() noexcept {
    size_ = kMostSlots * kSlot;
    char *memory = map_another();
    next_ = static_cast<uint32_t *>(preload::map_private(kMostSlots * sizeof *next_));
    if (memory == nullptr || next_ == nullptr) {
        if (memory != nullptr) munmap(memory, size_);
        size_ = 0;
        return false;
    }
    base_ = reinterpret_cast<uintptr_t>(memory);
    return true;
}

bool Windows::move_here(char *fresh) const noexcept {
    return mremap(fresh, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void *>(base_)) !=
           MAP_FAILED;
}

uint32_t Windows::take(size_t bytes) noexcept {
    const unsigned length = length_of(bytes);
    if (length >= kLengths) return kNone;
    if (const uint32_t kept = free_[length]; kept != 0) {
        free_[length] = next_[kept - 1];
        return kept - 1;
    }
    const size_t slots = size_t{1} << length;
    if (fresh_ + slots > kMostSlots) return kNone;
    const uint32_t slot = fresh_;
    fresh_ += static_cast<uint32_t>(slots);
    return slot;
}

void Windows::give(uint32_t slot, size_t bytes) noexcept {
    // Punches a hole into the file: the next one finds zeros, and no memory stays behind.
    madvise(address(slot), whole_pages(bytes), MADV_REMOVE);
    const unsigned length = length_of(bytes);
    next_[slot] = free_[length];
    free_[length] = slot + 1;
}

void Windows::arm(uint32_t slot, size_t bytes) const noexcept {
    madvise(address(slot), whole_pages(bytes), MADV_DONTNEED);
}

Windows::Seen Windows::look(uint32_t slot, size_t bytes) const noexcept {
    const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (file < 0) return Seen::Unknown;
    constexpr size_t kAtOnce = 512;
    uint64_t pages[kAtOnce];
    auto seen = Seen::Unused;
    const size_t first = reinterpret_cast<uintptr_t>(address(slot)) / kPage;
    const size_t count = whole_pages(bytes) / kPage;
    for (size_t done = 0; done < count && seen == Seen::Unused;) {
        const size_t want = count - done < kAtOnce ? count - done : kAtOnce;
        const long got =
            syscall(SYS_pread64, file, pages, want * sizeof *pages, (first + done) * sizeof *pages);
        if (got <= 0) {
            seen = Seen::Unknown;
            break;
        }
        const size_t entries = static_cast<size_t>(got) / sizeof *pages;
        for (size_t i = 0; i < entries; ++i) {
            // Present, or swapped out after it was: either way somebody brought it.
            if (pages[i] >> 62 != 0) seen = Seen::Used;
        }
        done += entries;
    }
    preload::close_quietly(static_cast<int>(file));
    return seen;
}

} // namespace reap::drag
