#pragma once

#include <atomic>
#include <pthread.h>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::interpose {

/// The single lock of an allocator that serves a whole process. It is recursive, since what is called under
/// it may allocate. In the child of a fork, begin_child() releases it.
///
/// A std::mutex may throw, and would need the C++ runtime for that.
class ProcessLock {
  public:
    constexpr ProcessLock() noexcept = default;
    ProcessLock(const ProcessLock &) = delete;
    ProcessLock &operator=(const ProcessLock &) = delete;
    ~ProcessLock() = default;

    void lock() noexcept {
        const pthread_t self = ::pthread_self();
        if (holder_.load(std::memory_order_relaxed) == self) {
            ++depth_;
            return;
        }
        ::pthread_mutex_lock(&mutex_); // cannot fail for a mutex of the normal type
        holder_.store(self, std::memory_order_relaxed);
    }
    void unlock() noexcept {
        if (depth_ > 0) {
            --depth_;
            return;
        }
        holder_.store(pthread_t{}, std::memory_order_relaxed);
        ::pthread_mutex_unlock(&mutex_);
    }
    /// Called in the child of a fork, whose only thread is the one that held it. Afterwards no thread holds
    /// it.
    void begin_child() noexcept {
        holder_.store(pthread_t{}, std::memory_order_relaxed);
        depth_ = 0;
        mutex_ = PTHREAD_MUTEX_INITIALIZER;
    }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<pthread_t> holder_; // zero if not held: no thread has that id
    unsigned depth_ = 0;
};

} // namespace reap::inline REAP_MODE::interpose
