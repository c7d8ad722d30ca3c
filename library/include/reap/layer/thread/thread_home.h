#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <pthread.h>
#include <utility>

#include "reap/core/loaded.h"
#include "reap/core/mode.h"

// Which thread has which part of something that has a part per thread. PerThread is built on it.

namespace reap::inline REAP_MODE::detail {

/// One thread's part.
struct ThreadSlot {
    static constexpr std::uint64_t idle = 0;
    ThreadSlot *next = nullptr;
    /// The thread whose part this is, by its number. A thread that finds its own number here knows that no
    /// other can change it meanwhile.
    std::atomic<std::uint64_t> thread{idle};
};

/// Has a part for each thread that uses it. When a thread ends its part becomes idle, and passes to the next
/// new thread, contents included.
///
/// Threads may outlive it, and may end at any time, also while it is destroyed: one lock synchronizes both.
/// Looking up one's part costs some ten instructions while a thread uses no two whose serial numbers differ
/// by a multiple of 8; otherwise a lock, and a walk over the parts.
class ThreadHome {
  public:
    ThreadHome(const ThreadHome &) = delete;
    ThreadHome &operator=(const ThreadHome &) = delete;

    /// The number of this thread, or one that no slot ever has.
    static std::uint64_t this_thread() noexcept { return number_; }
    /// The same, and assigns a number if the thread has none; ThreadSlot::idle if that fails.
    static std::uint64_t join_this_thread() noexcept {
        return number_ != nobody || join() ? number_ : ThreadSlot::idle;
    }

  protected:
    ThreadHome() noexcept {
        const std::scoped_lock lock(mutex_);
        serial_ = ++last_serial_;
        next_ = std::exchange(homes_, this);
    }
    ~ThreadHome() { leave(); }

    /// Must be called before parts are destroyed: from here on no ending thread accesses them.
    void leave() noexcept {
        const std::scoped_lock lock(mutex_);
        ThreadHome **link = &homes_;
        while (*link != nullptr && *link != this) link = &(*link)->next_;
        if (*link == this) *link = next_;
    }

    /// This thread's part, if it is cached; otherwise null.
    [[nodiscard]] ThreadSlot *remembered() const noexcept {
        const Remembered &mine = remembered_[serial_ % places];
        return mine.home == serial_ ? mine.slot : nullptr;
    }

    /// This thread's part: its own, or an idle one, or a new one that make() returns. Null if memory is
    /// exhausted, which make() reports by returning null.
    template <class Make>
    [[gnu::noinline]] ThreadSlot *find(Make make) {
        if (number_ == nobody && !join()) return nullptr;
        ThreadSlot *slot = claim();
        if (slot == nullptr) {
            // Without the lock: what is made here may itself look up a part.
            slot = make();
            if (slot == nullptr) return nullptr;
            slot->thread.store(number_, std::memory_order_relaxed);
            add(slot);
        }
        remembered_[serial_ % places] = {serial_, slot};
        return slot;
    }

    /// Adds a part. Parts are never removed.
    void add(ThreadSlot *slot) noexcept {
        const std::scoped_lock lock(mutex_);
        slot->next = slots_.load(std::memory_order_relaxed);
        slots_.store(slot, std::memory_order_release);
    }

    /// Starts afresh, without parts, and returns the previous ones. No thread may look up its own meanwhile.
    [[nodiscard]] ThreadSlot *begin_anew() noexcept {
        const std::scoped_lock lock(mutex_);
        serial_ = ++last_serial_;
        return slots_.exchange(nullptr, std::memory_order_acquire);
    }

    /// All parts, from this one along `next`.
    [[nodiscard]] ThreadSlot *slots() const noexcept { return slots_.load(std::memory_order_acquire); }

  private:
    static constexpr std::size_t places = 8;
    static constexpr std::uint64_t nobody = ~std::uint64_t{0};
    struct Remembered {
        std::uint64_t home;
        ThreadSlot *slot;
    };

    /// This thread's part, otherwise an idle one that is now its own; otherwise null.
    ThreadSlot *claim() noexcept {
        const std::scoped_lock lock(mutex_);
        ThreadSlot *found = nullptr;
        for (ThreadSlot *slot = slots(); slot != nullptr; slot = slot->next) {
            const std::uint64_t thread = slot->thread.load(std::memory_order_relaxed);
            if (thread == number_) return slot;
            if (thread == ThreadSlot::idle) found = slot;
        }
        if (found != nullptr) found->thread.store(number_, std::memory_order_relaxed);
        return found;
    }

    /// Assigns a number to this thread, and arranges to be notified of its end. By a pthread key and not by a
    /// destructor: the destructors of other thread_local objects, which may still free memory, come first,
    /// and what comes later makes the thread join, and leave, again.
    [[gnu::noinline]] static bool join() noexcept {
        static const EndOfThread end;
        if (!end.good || ::pthread_setspecific(end.key, &number_) != 0) return false;
        // Not while `end` is constructed: that holds a lock, and this waits for constructors that dlopen()
        // runs.
        if (!is_kept_loaded_.exchange(true, std::memory_order_relaxed))
            keep_loaded(reinterpret_cast<const void *>(&on_end));
        const std::scoped_lock lock(mutex_);
        number_ = ++last_number_;
        return true;
    }

    struct EndOfThread {
        pthread_key_t key{};
        bool good = ::pthread_key_create(&key, on_end) == 0;
    };
    static void on_end(void * /*number*/) noexcept {
        const std::scoped_lock lock(mutex_);
        for (const ThreadHome *home = homes_; home != nullptr; home = home->next_) {
            for (ThreadSlot *slot = home->slots(); slot != nullptr; slot = slot->next) {
                if (slot->thread.load(std::memory_order_relaxed) == number_)
                    slot->thread.store(ThreadSlot::idle, std::memory_order_relaxed);
            }
        }
        number_ = nobody;
        for (Remembered &place : remembered_) place = {};
    }

    static inline constinit std::atomic<bool> is_kept_loaded_{false};
    static inline constinit std::mutex mutex_; // guards all that follows
    static inline constinit ThreadHome *homes_ = nullptr;
    static inline constinit std::uint64_t last_serial_ = 0;
    static inline constinit std::uint64_t last_number_ = ThreadSlot::idle;
    static inline constinit thread_local std::uint64_t number_ = nobody;
    static inline constinit thread_local Remembered remembered_[places] = {};

    std::uint64_t serial_;
    ThreadHome *next_;
    std::atomic<ThreadSlot *> slots_{nullptr};
};

} // namespace reap::inline REAP_MODE::detail
