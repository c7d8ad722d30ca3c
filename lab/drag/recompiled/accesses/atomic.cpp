// Atomic operations, which compilers leave to the runtime under -fsanitize=thread. All are done as if
// sequentially consistent: at least as strong as whatever was asked for.
#include "objects/shadow.h"
#include "platform.h"

namespace {

template <class T>
void touched(const volatile T *at) noexcept {
    reap::drag::mark_read(reinterpret_cast<uintptr_t>(at));
    reap::drag::mark_written(reinterpret_cast<uintptr_t>(at));
}

} // namespace

#define REAP_FETCH(bits, T, name)                                                                            \
    REAP_EXPORT T __tsan_atomic##bits##_fetch_##name(volatile T *at, T value, int) {                         \
        touched(at);                                                                                         \
        return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST);                                           \
    }
#define REAP_ATOMIC(bits, T)                                                                                 \
    REAP_EXPORT T __tsan_atomic##bits##_load(const volatile T *at, int) {                                    \
        reap::drag::mark_read(reinterpret_cast<uintptr_t>(at));                                              \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                        \
    REAP_EXPORT void __tsan_atomic##bits##_store(volatile T *at, T value, int) {                             \
        reap::drag::mark_written(reinterpret_cast<uintptr_t>(at));                                           \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                        \
    REAP_EXPORT T __tsan_atomic##bits##_exchange(volatile T *at, T value, int) {                             \
        touched(at);                                                                                         \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                                        \
    REAP_EXPORT int __tsan_atomic##bits##_compare_exchange_strong(volatile T *at, T *expected, T value, int, \
                                                                  int) {                                     \
        touched(at);                                                                                         \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
    }                                                                                                        \
    REAP_EXPORT int __tsan_atomic##bits##_compare_exchange_weak(volatile T *at, T *expected, T value, int,   \
                                                                int) {                                       \
        touched(at);                                                                                         \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
    }                                                                                                        \
    REAP_EXPORT T __tsan_atomic##bits##_compare_exchange_val(volatile T *at, T expected, T value, int,       \
                                                             int) {                                          \
        touched(at);                                                                                         \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
        return expected;                                                                                     \
    }                                                                                                        \
    REAP_FETCH(bits, T, add)                                                                                 \
    REAP_FETCH(bits, T, sub)                                                                                 \
    REAP_FETCH(bits, T, and)                                                                                 \
    REAP_FETCH(bits, T, or)                                                                                  \
    REAP_FETCH(bits, T, xor)                                                                                 \
    REAP_FETCH(bits, T, nand)

// Those of sixteen bytes are in atomic16.cpp.
REAP_ATOMIC(8, uint8_t)
REAP_ATOMIC(16, uint16_t)
REAP_ATOMIC(32, uint32_t)
REAP_ATOMIC(64, uint64_t)
REAP_EXPORT void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
REAP_EXPORT void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
