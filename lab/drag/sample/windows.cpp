#include "windows.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform.h"

namespace reap::drag {
namespace {

// Both bypass our interposed functions.
long advise(void *begin, size_t bytes, int advice) noexcept {
    return syscall(SYS_madvise, begin, bytes, advice);
}

void mprotect_directly(void *begin, size_t bytes, int protection) noexcept {
    syscall(SYS_mprotect, begin, bytes, protection);
}

// How many slots a run has, as a power of two.
unsigned length_of(size_t bytes) noexcept {
    const size_t slots = (bytes + Windows::kSlot - 1) / Windows::kSlot;
    return slots <= 1 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(slots - 1));
}

} // namespace

char *Windows::map_another() const noexcept {
    const long file = syscall(SYS_memfd_create, "reap-drag", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    void *memory = MAP_FAILED;
    // Beyond RLIMIT_FSIZE ftruncate raises a signal that would kill the process.
    if (preload::may_grow_to(size_) && ftruncate(static_cast<int>(file), static_cast<off_t>(size_)) == 0) {
        memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      static_cast<int>(file), 0);
    }
    preload::close_quietly(static_cast<int>(file));
    if (memory == MAP_FAILED) return nullptr;
    // A huge page would hold several objects; a core file would hold gigabytes of zeros.
    advise(memory, size_, MADV_NOHUGEPAGE);
    advise(memory, size_, MADV_DONTDUMP);
    return static_cast<char *>(memory);
}

bool Windows::reserve() noexcept {
    size_ = kMaxSlots * kSlot;
    char *memory = map_another();
    next_ = static_cast<uint32_t *>(preload::map_private(kMaxSlots * sizeof *next_));
    if (memory == nullptr || next_ == nullptr) {
        if (memory != nullptr) munmap(memory, size_);
        size_ = 0;
        return false;
    }
    base_ = reinterpret_cast<uintptr_t>(memory);
    return true;
}

bool Windows::install(char *fresh) const noexcept {
    if (mremap(fresh, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void *>(base_)) ==
        MAP_FAILED)
        return false;
    for (uint32_t i = 0; i < protections_; ++i)
        mprotect_directly(protected_[i].begin, protected_[i].bytes, protected_[i].protection);
    return true;
}

void Windows::protect(const void *begin, size_t bytes, int protection) noexcept {
    char *first = const_cast<char *>(static_cast<const char *>(begin));
    uint32_t left = 0;
    for (uint32_t i = 0; i < protections_; ++i) {
        const bool replaced = protected_[i].begin >= first &&
                              protected_[i].begin + protected_[i].bytes <= first + whole_pages(bytes);
        if (!replaced) protected_[left++] = protected_[i];
    }
    protections_ = left;
    ever_protected_ = true;
    if (left != kMaxProtected) protected_[protections_++] = {first, whole_pages(bytes), protection};
}

// For the next object in the slot.
void Windows::unprotect(uint32_t slot, size_t bytes) noexcept {
    if (!ever_protected_ || bytes < kPage) return;
    const size_t size = whole_pages(bytes);
    protect(address(slot), size, PROT_READ | PROT_WRITE);
    if (protections_ != 0 && protected_[protections_ - 1].begin == address(slot)) --protections_;
    mprotect_directly(address(slot), size, PROT_READ | PROT_WRITE);
}

void Windows::copy_out(char *to, uint32_t slot, size_t bytes) const noexcept {
    const void *from = address(slot);
    void *other = MAP_FAILED;
    // The program may have made the pages unreadable: read them through another mapping.
    if (ever_protected_ && bytes >= kPage) {
        other = mremap(address(slot), 0, whole_pages(bytes), MREMAP_MAYMOVE);
        if (other != MAP_FAILED) mprotect_directly(other, whole_pages(bytes), PROT_READ | PROT_WRITE);
        if (other != MAP_FAILED) from = other;
    }
    memcpy(to, from, bytes);
    if (other != MAP_FAILED) munmap(other, whole_pages(bytes));
}

void Windows::drop(char *copied) const noexcept { munmap(copied, size_); }

char *Windows::map_packed(size_t bytes) noexcept { return static_cast<char *>(preload::map_private(bytes)); }

size_t Windows::unpack(Packed packed, size_t at, uint32_t slot, size_t bytes) noexcept {
    ever_protected_ = false;
    protections_ = 0;
    const size_t size = whole_pages(bytes);
    if (size != 0) {
        mremap(packed.begin + at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address(slot));
    }
    return size;
}

void Windows::drop(Packed packed) noexcept {
    if (packed.begin != nullptr) munmap(packed.begin, packed.size);
}

void Windows::shrink() noexcept {
    if (shrunk_ || size_ == 0) return;
    shrunk_ = true;
    uint32_t most = 0;
    for (const uint32_t begun : begun_) most = begun > most ? begun : most;
    const uint32_t chunks = (most + kChunk - 1) / kChunk * Rounds::kClasses;
    slots_size_ = size_t{chunks} * kChunk * kSlot;
    const size_t end = size_t{runs_end_} * kSlot;
    // Before unmapping, after which the addresses may be reused.
    const size_t whole = size_;
    size_ = end;
    munmap(static_cast<char *>(address(0)) + slots_size_, kRuns * kSlot - slots_size_);
    munmap(static_cast<char *>(address(0)) + end, whole - end);
}

uint32_t Windows::take(size_t bytes, uint32_t kind) noexcept {
    const unsigned length = length_of(bytes);
    if (length >= kLengths) return kNone;
    uint32_t &free = length == 0 ? free_[kind] : free_runs_[length];
    if (const uint32_t kept = free; kept != 0) {
        free = next_[kept - 1];
        // release() leaves the first page to be cleared here.
        memset(address(kept - 1), 0, bytes < kPage ? bytes : kPage);
        return kept - 1;
    }
    if (shrunk_) return kNone;
    if (length == 0) {
        const uint32_t slot = slot_at(kind, begun_[kind]);
        if (slot >= kRuns) return kNone;
        ++begun_[kind];
        return slot;
    }
    const uint32_t slots = uint32_t{1} << length;
    if (slots > kMaxSlots - runs_end_) return kNone;
    const uint32_t slot = runs_end_;
    runs_end_ += slots;
    return slot;
}

void Windows::release(uint32_t slot, size_t bytes) noexcept {
    unprotect(slot, bytes);
    // Punches a hole into the file, which frees the memory and zeroes it for the next object. The first page
    // is kept: clearing it is cheaper than a page fault.
    if (bytes > kPage) {
        char *rest = static_cast<char *>(address(slot)) + kPage;
        // Fails for memory that the program has locked.
        if (advise(rest, whole_pages(bytes) - kPage, MADV_REMOVE) != 0) memset(rest, 0, bytes - kPage);
    }
    uint32_t &free = slot < kRuns ? free_[slot / kChunk % Rounds::kClasses] : free_runs_[length_of(bytes)];
    next_[slot] = free;
    free = slot + 1;
}

void Windows::arm(uint32_t slot, size_t bytes) const noexcept {
    advise(address(slot), whole_pages(bytes), MADV_DONTNEED);
}

Windows::Seen Windows::check(Pagemap &map, uint32_t slot, size_t bytes) const noexcept {
    const char *begin = static_cast<const char *>(address(slot));
    bool used[Pagemap::kMaxPages];
    for (size_t left = whole_pages(bytes) / kPage; left > 0;) {
        const size_t count = left < Pagemap::kMaxPages ? left : Pagemap::kMaxPages;
        if (!map.read(begin, count, used)) return Seen::Unknown;
        for (size_t i = 0; i < count; ++i) {
            if (used[i]) return Seen::Used;
        }
        begin += count * kPage;
        left -= count;
    }
    return Seen::Unused;
}

Pagemap::~Pagemap() {
    if (file_ >= 0) preload::close_quietly(file_);
}

bool Pagemap::read(const void *begin, size_t pages, bool *used) noexcept {
    if (file_ < 0) {
        file_ = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    }
    if (file_ < 0) return false;
    uint64_t entries[kMaxPages];
    const uint64_t offset = reinterpret_cast<uintptr_t>(begin) / kPage * sizeof *entries;
    const auto length = static_cast<long>(pages * sizeof *entries);
    if (syscall(SYS_pread64, file_, entries, length, offset) != length) return false;
    for (size_t i = 0; i < pages; ++i) {
        // Present or swapped out: accessed either way.
        used[i] = entries[i] >> 62 != 0;
    }
    return true;
}

} // namespace reap::drag
