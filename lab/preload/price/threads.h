// The state of each thread: adopted from a thread that has ended, or new.
#pragma once

#include <pthread.h>

#include "platform.h"

namespace reap::preload {

// What every state begins with.
template <class State>
// NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): states stay aggregates, which start as zeros.
struct ThreadLinks {
    State *idle_next = nullptr;
    State *all_next = nullptr;
};

template <class State>
class Threads {
  public:
    // Before the process has a second thread: in a constructor.
    void start(void (*thread_ended)(void *)) noexcept {
        started_ = pthread_key_create(&key_, thread_ended) == 0;
    }

    // A state for the calling thread; null if there is no memory. Call `watch` when it is in place.
    State *acquire() noexcept {
        const LockGuard guard(lock_);
        if (State *const state = idle_) {
            idle_ = state->idle_next;
            return state;
        }
        auto *const state = static_cast<State *>(map_private(sizeof(State)));
        if (state == nullptr) return nullptr;
        state->all_next = all_;
        all_ = state;
        return state;
    }

    // Has the calling thread's end reported. May allocate.
    void watch(State *state) const noexcept {
        if (started_) pthread_setspecific(key_, state);
    }

    void release(State *state) noexcept {
        const LockGuard guard(lock_);
        state->idle_next = idle_;
        idle_ = state;
    }

    [[nodiscard]] State *all() const noexcept { return all_; }
    FutexLock &lock() noexcept { return lock_; }

  private:
    State *idle_ = nullptr;
    State *all_ = nullptr;
    pthread_key_t key_ = 0;
    bool started_ = false;
    FutexLock lock_;
};

} // namespace reap::preload
