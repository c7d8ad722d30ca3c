// A function that is called when a thread ends.
#pragma once

#include <pthread.h>

#include "platform.h"

namespace reap::preload {

class ThreadEnd {
  public:
    explicit constexpr ThreadEnd(void (*function)(void *)) noexcept : function_(function) {}

    // Creates the key of the C library, if it has not been. False where that refuses: before glibc 2.34 a
    // process has no keys until it loads libpthread.
    REAP_COLD bool prepare() noexcept {
        if (__atomic_load_n(&state_, __ATOMIC_ACQUIRE) == Ready) return true;
        State none = None;
        if (!__atomic_compare_exchange_n(&state_, &none, Busy, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return none == Ready;
        const State reached = pthread_key_create(&key_, function_) == 0 ? Ready : None;
        __atomic_store_n(&state_, reached, __ATOMIC_RELEASE);
        return reached == Ready;
    }

    // The function is called with `value`, which is not null, when this thread ends. If false is returned,
    // this may be tried again.
    bool expect(const void *value) noexcept { return prepare() && pthread_setspecific(key_, value) == 0; }

  private:
    enum State { None, Busy, Ready };
    void (*function_)(void *);
    State state_ = None; // (atomic)
    pthread_key_t key_ = 0;
};

} // namespace reap::preload
