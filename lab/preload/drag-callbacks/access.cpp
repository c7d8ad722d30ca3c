// What compilers call before an access under -fsanitize=thread (LLVM's tsan_interface.h has the list).
#include "platform.h"
#include "reap_drag.h"
#include "shadow.h"

namespace reap::drag {

constinit State reap_drag_state_1 = {kOnePage, 0, 1};

namespace {

// Valgrind, and kernels before 4.17, take the address for a wish.
bool map(uintptr_t begin, uintptr_t size) noexcept {
    auto *wanted = reinterpret_cast<void *>(begin);
    return mmap(wanted, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == wanted;
}

constexpr uintptr_t kPages = 0x2000; // with the skew, and an access of 16 bytes at the end

} // namespace

bool map_shadow() noexcept { return map(kShadow, kPages); }

bool open_shadow() noexcept {
    if (!map(kShadow + kPages, kShadowBytes)) return false;
    auto *memory = reinterpret_cast<void *>(kShadow);
    madvise(memory, kShadowBytes, MADV_DONTDUMP);
    madvise(memory, kShadowBytes, MADV_NOHUGEPAGE); // it is sparse
    state.mask = kAllAddresses;
    return true;
}

Use use_of(uintptr_t address, size_t size, uint32_t birth) noexcept {
    Use use{birth, 0};
    for (uintptr_t at = address & ~uintptr_t{7}; at < address + size; at += 8) {
        const uint32_t last = __atomic_load_n(&slot_of(at)->last, __ATOMIC_RELAXED);
        if (last / 2 < birth) continue; // of what was there before
        use.flags |= (last & 1) != 0 ? REAP_DRAG_READ : REAP_DRAG_WRITTEN;
        if (last / 2 > use.last) use.last = last / 2;
    }
    return use;
}

void forget_reads(uintptr_t address, size_t size) noexcept {
    for (uintptr_t at = address & ~uintptr_t{7}; at < address + size; at += 8) {
        uint32_t *last = &slot_of(at)->last;
        const uint32_t seen = __atomic_load_n(last, __ATOMIC_RELAXED);
        if ((seen & 1) != 0) __atomic_store_n(last, seen & ~uint32_t{1}, __ATOMIC_RELAXED);
    }
}

} // namespace reap::drag

using reap::drag::mark_range;
using reap::drag::mark_read;
using reap::drag::mark_written;

// Eight aligned bytes and fewer have one slot.
#define REAP_ACCESS(name, mark)                                                                              \
    REAP_EXPORT void __tsan_##name##1(uintptr_t at) { mark(at); }                                            \
    REAP_EXPORT void __tsan_##name##2(uintptr_t at) { mark(at); }                                            \
    REAP_EXPORT void __tsan_##name##4(uintptr_t at) { mark(at); }                                            \
    REAP_EXPORT void __tsan_##name##8(uintptr_t at) { mark(at); }                                            \
    REAP_EXPORT void __tsan_##name##16(uintptr_t at) {                                                       \
        mark(at);                                                                                            \
        mark(at + 8);                                                                                        \
    }
#define REAP_UNALIGNED(name, mark)                                                                           \
    REAP_EXPORT void __tsan_unaligned_##name##2(uintptr_t at) { mark_range<mark>((const void *)at, 2); }     \
    REAP_EXPORT void __tsan_unaligned_##name##4(uintptr_t at) { mark_range<mark>((const void *)at, 4); }     \
    REAP_EXPORT void __tsan_unaligned_##name##8(uintptr_t at) { mark_range<mark>((const void *)at, 8); }     \
    REAP_EXPORT void __tsan_unaligned_##name##16(uintptr_t at) { mark_range<mark>((const void *)at, 16); }

REAP_ACCESS(read, mark_read)
REAP_ACCESS(write, mark_written)
REAP_ACCESS(read_write, mark_read)
REAP_ACCESS(volatile_read, mark_read)
REAP_ACCESS(volatile_write, mark_written)
REAP_UNALIGNED(read, mark_read)
REAP_UNALIGNED(write, mark_written)
REAP_UNALIGNED(read_write, mark_read)
REAP_UNALIGNED(volatile_read, mark_read)
REAP_UNALIGNED(volatile_write, mark_written)
REAP_EXPORT void __tsan_read_range(const void *at, size_t size) { mark_range<mark_read>(at, size); }
REAP_EXPORT void __tsan_write_range(const void *at, size_t size) { mark_range<mark_written>(at, size); }
REAP_EXPORT void __tsan_vptr_read(uintptr_t at) { mark_read(at); }
REAP_EXPORT void __tsan_vptr_update(uintptr_t at, const void *) { mark_written(at); }
REAP_EXPORT void __tsan_func_entry(const void *) {}
REAP_EXPORT void __tsan_func_exit() {}
REAP_EXPORT void __tsan_init() {}
REAP_EXPORT void __tsan_ignore_thread_begin() {}
REAP_EXPORT void __tsan_ignore_thread_end() {}
