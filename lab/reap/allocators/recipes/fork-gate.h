// Lets an allocator that has no handler for forks be forked while other threads allocate.
//
// A child that is forked while another thread holds a lock waits for that lock for ever. Such allocators have
// many locks (one for each superblock, or size class), so none is taken for a fork. Each thread counts itself
// in a slot while it holds any; a fork waits until all slots are empty, and who would take a first lock
// meanwhile waits for it. A recipe has the allocator's own lock call `enter` before it is taken, and `leave`
// after it was released. That costs two atomic additions for the first lock that a thread holds.
#pragma once

#include <atomic>
#include <cstdint>

#include <pthread.h>
#include <sched.h>

class ForkGate {
  public:
    // Before a thread takes a lock. The fork looks at slots after it closed the gate, and this at the gate
    // after it filled its slot: one of them sees the other.
    static void enter() {
        if (held_++ > 0) return;
        for (;;) {
            slot().fetch_add(1);
            if (!closed_.load() || forks_) return;
            slot().fetch_sub(1);
            while (closed_.load()) sched_yield();
        }
    }
    static void leave() {
        if (--held_ == 0) slot().fetch_sub(1, std::memory_order_release);
    }

  private:
    struct alignas(64) Slot {
        std::atomic<unsigned> inside;
    };
    // Threads that share one only share a cache line. Their places are stacks apart, so hashed.
    static std::atomic<unsigned> &slot() {
        return slots_[reinterpret_cast<std::uintptr_t>(&held_) * 0x9e3779b97f4a7c15U >> 58U].inside;
    }
    static void close() {
        while (closed_.exchange(true)) sched_yield(); // another thread forks
        forks_ = true;
        for (Slot &each : slots_)
            while (each.inside.load() != 0) sched_yield();
    }
    static void open() {
        forks_ = false;
        closed_.store(false);
    }

    inline static Slot slots_[64] = {};
    inline static std::atomic<bool> closed_ = false;
    inline static __thread int held_ = 0;       // locks of this thread
    inline static __thread bool forks_ = false; // this thread closed the gate, and may pass
    inline static const int registered_ = pthread_atfork(close, open, open);
};
