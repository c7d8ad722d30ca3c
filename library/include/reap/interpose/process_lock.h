#pragma once

#include <atomic>
#include <pthread.h>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::interpose {

/// The one lock of an allocator that serves a whole process. The thread that holds it may take it again: what
/// is called under it may allocate. fork() in its copy of the process sets it free by begin_child().
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
        ::pthread_mutex_lock(&mutex_); // cannot fail: the mutex is of the plain kind
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
    /// In the child of a fork, whose only thread is the one that held it: nobody holds it.
    void begin_child() noexcept {
        holder_.store(pthread_t{}, std::memory_order_relaxed);
        depth_ = 0;
        mutex_ = PTHREAD_MUTEX_INITIALIZER;
    }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<pthread_t> holder_; // nobody: as no thread's number is
    unsigned depth_ = 0;
};

} // namespace reap::inline REAP_MODE::interpose
