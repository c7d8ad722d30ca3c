#pragma once

#include <pthread.h>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// A std::mutex for headers that every user of a layer includes: <mutex> takes longer to compile than they
/// do. Constant-initialized, and never destroyed: layers may end after the static destructors.
class Mutex {
  public:
    constexpr Mutex() noexcept = default;
    Mutex(const Mutex &) = delete;
    Mutex &operator=(const Mutex &) = delete;
    ~Mutex() = default;

    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds a mutex for as long as it lives.
class MutexLock {
  public:
    explicit MutexLock(Mutex &mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
    MutexLock(const MutexLock &) = delete;
    MutexLock &operator=(const MutexLock &) = delete;
    ~MutexLock() { mutex_.unlock(); }

  private:
    Mutex &mutex_;
};

} // namespace reap::inline REAP_MODE
