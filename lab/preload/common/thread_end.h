// A function that is called when a thread ends.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "platform.h"

namespace reap::preload {

class ThreadEnd {
  public:
    explicit constexpr ThreadEnd(void (*function)(void *)) noexcept : function_(function) {}

    // Creates the key of the C library, if it has not been. False where that refuses: before glibc 2.34 a
    // process has no keys until it loads libpthread.
    REAP_COLD bool prepare() noexcept {
        if (__atomic_load_n(&known_, __ATOMIC_ACQUIRE) != 0) return true;
        pthread_key_t key = 0;
        // Another thread may have the last one.
        if (pthread_key_create(&key, function_) != 0) return __atomic_load_n(&known_, __ATOMIC_ACQUIRE) != 0;
        uint64_t none = 0;
        // The first key counts: none of several threads waits for another.
        if (!__atomic_compare_exchange_n(&known_, &none, uint64_t{key} + 1, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            pthread_key_delete(key);
        return true;
    }

    // The function is called with `value`, which is not null, when this thread ends. If false is returned,
    // this may be tried again.
    bool expect(const void *value) noexcept {
        if (!prepare()) return false;
        const uint64_t known = __atomic_load_n(&known_, __ATOMIC_ACQUIRE);
        return pthread_setspecific(static_cast<pthread_key_t>(known - 1), value) == 0;
    }

  private:
    void (*function_)(void *);
    uint64_t known_ = 0; // (atomic) the key, and one more; 0: none
};

} // namespace reap::preload
