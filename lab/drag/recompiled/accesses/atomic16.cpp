// Atomic operations on sixteen bytes: all by cmpxchg16b, as libatomic has them where the processor can, so
// that libraries which use that see the same. (A load, too: it must be from memory that may be written.)
#include "objects/shadow.h"
#include "platform.h"

namespace {

using Wide = unsigned __int128;

void touched(const volatile Wide *at) noexcept {
    reap::drag::mark_range<reap::drag::mark_read>(const_cast<const Wide *>(at), sizeof(Wide));
    reap::drag::mark_range<reap::drag::mark_written>(const_cast<const Wide *>(at), sizeof(Wide));
}

// What was there; it is `wanted` now if that was `expected`.
Wide exchange_if(volatile Wide *at, Wide expected, Wide wanted) noexcept {
    return __sync_val_compare_and_swap(at, expected, wanted);
}

// Puts what `change` makes of the value in its place; what was there.
template <class Change>
Wide update(volatile Wide *at, Change change) noexcept {
    touched(at);
    Wide before = exchange_if(at, 0, 0);
    for (;;) {
        const Wide found = exchange_if(at, before, change(before));
        if (found == before) return before;
        before = found;
    }
}

int exchange_expected(volatile Wide *at, Wide *expected, Wide wanted) noexcept {
    touched(at);
    const Wide found = exchange_if(at, *expected, wanted);
    if (found == *expected) return 1;
    *expected = found;
    return 0;
}

} // namespace

#define REAP_FETCH(name, result)                                                                             \
    REAP_EXPORT Wide __tsan_atomic128_fetch_##name(volatile Wide *at, Wide value, int) {                     \
        return update(at, [value](Wide before) { return result; });                                          \
    }

REAP_EXPORT Wide __tsan_atomic128_load(const volatile Wide *at, int) {
    reap::drag::mark_range<reap::drag::mark_read>(const_cast<const Wide *>(at), sizeof(Wide));
    return exchange_if(const_cast<volatile Wide *>(at), 0, 0);
}
REAP_EXPORT void __tsan_atomic128_store(volatile Wide *at, Wide value, int) {
    reap::drag::mark_range<reap::drag::mark_written>(const_cast<const Wide *>(at), sizeof(Wide));
    Wide before = exchange_if(at, 0, 0);
    for (Wide found; (found = exchange_if(at, before, value)) != before;) before = found;
}
REAP_EXPORT Wide __tsan_atomic128_exchange(volatile Wide *at, Wide value, int) {
    return update(at, [value](Wide) { return value; });
}
REAP_EXPORT int __tsan_atomic128_compare_exchange_strong(volatile Wide *at, Wide *expected, Wide value, int,
                                                         int) {
    return exchange_expected(at, expected, value);
}
REAP_EXPORT int __tsan_atomic128_compare_exchange_weak(volatile Wide *at, Wide *expected, Wide value, int,
                                                       int) {
    return exchange_expected(at, expected, value);
}
REAP_EXPORT Wide __tsan_atomic128_compare_exchange_val(volatile Wide *at, Wide expected, Wide value, int,
                                                       int) {
    touched(at);
    return exchange_if(at, expected, value);
}
REAP_FETCH(add, before + value)
REAP_FETCH(sub, before - value)
REAP_FETCH(and, before &value)
REAP_FETCH(or, before | value)
REAP_FETCH(xor, before ^ value)
REAP_FETCH(nand, ~(before &value))
