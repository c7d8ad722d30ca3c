// What compilers call before an access under -fsanitize=thread (LLVM's tsan_interface.h has the list).
#include "objects/shadow.h"
#include "platform.h"
#include "reap_drag.h"

namespace reap::drag {

constinit State reap_drag_state_2 = {kOnePage, 0, 1};

namespace {

// Valgrind, and kernels before 4.17, take the address for a wish.
bool map(uintptr_t begin, uintptr_t size) noexcept {
    auto *wanted = reinterpret_cast<void *>(begin);
    return mmap(wanted, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == wanted;
}

constexpr uintptr_t kPages = 0x2000; // with the skew, and an access of 16 bytes at the end
constexpr uintptr_t kShadowOfEarlier = kShadow / 2 + kEarlier;

} // namespace

bool map_shadow() noexcept { return map(kShadow, kPages) && map(kShadowOfEarlier, kPages / 2); }

bool open_shadow() noexcept {
    if (!map(kShadow + kPages, kShadowBytes)) return false;
    if (!map(kShadowOfEarlier + kPages / 2, kShadowBytes / 2)) return false;
    const auto advise = [](uintptr_t begin, uintptr_t size) {
        madvise(reinterpret_cast<void *>(begin), size, MADV_DONTDUMP);
        madvise(reinterpret_cast<void *>(begin), size, MADV_NOHUGEPAGE); // it is sparse, but see below
    };
    advise(kShadow, kShadowBytes);
    advise(kShadowOfEarlier, kShadowBytes / 2);
    state.mask = kAllAddresses;
    return true;
}

void expect_dense(uintptr_t address, uintptr_t size) noexcept {
    const uintptr_t begin = kShadow + (address & kAllAddresses);
    if (begin + size > kShadow + kShadowBytes) return;
    madvise(reinterpret_cast<void *>(begin), size, MADV_HUGEPAGE);
    madvise(reinterpret_cast<void *>(begin / 2 + kEarlier), size / 2, MADV_HUGEPAGE);
}

namespace {

enum class Then { Keep, ForgetReads, Clear };

template <Then then>
Use look(uintptr_t address, size_t size, uint32_t birth) noexcept {
    uint32_t most = birth;
    uint32_t earlier = birth;
    uint32_t flags = 0;
    each_slot(address, size, [&](Slot &slot) {
        const uint32_t last = __atomic_load_n(&slot.last, __ATOMIC_RELAXED);
        if (then == Then::ForgetReads && (last & 1) != 0)
            __atomic_store_n(&slot.last, last & ~uint32_t{1}, __ATOMIC_RELAXED);
        if (then == Then::Clear && last != 0) __atomic_store_n(&slot.last, 0, __ATOMIC_RELAXED);
        if (last / 2 < birth) return; // of what was there before
        flags |= (last & 1) != 0 ? REAP_DRAG_READ : REAP_DRAG_WRITTEN;
        const uint32_t before =
            last < state.written ? last / 2 : __atomic_load_n(earlier_of(&slot), __ATOMIC_RELAXED) / 2;
        if (last / 2 > most) most = last / 2;
        if (before > earlier) earlier = before;
    });
    return {most, earlier, flags};
}

} // namespace

Use use_of(uintptr_t address, size_t size, uint32_t birth) noexcept {
    return look<Then::Keep>(address, size, birth);
}

Use last_use_of(uintptr_t address, size_t size, uint32_t birth) noexcept {
    return look<Then::Clear>(address, size, birth);
}

void forget_reads(uintptr_t address, size_t size) noexcept {
    look<Then::ForgetReads>(address, size, kLastClock);
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
