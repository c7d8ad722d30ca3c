// One process image of the recorded tree: begun by exec or fork, ended by exit, exec or a signal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "output/record_stream.h"
#include "output/request_blocks.h"
#include "output/trace_file.h"
#include "platform.h"
#include "stack_table.h"
#include "stamp.h"
#include "thread_state.h"
#include "watch_list.h"

namespace reap::preload {

class Image {
  public:
    // Makes `thread` ready to record; its phase says what came of it. Starts the image when it is the first.
    void enter(ThreadState &thread) noexcept;

    // The thread's own destructors are over: its place goes to others.
    void leave(ThreadState &thread) noexcept;

    [[nodiscard]] uint64_t now() const noexcept {
        return likely(!tsc_forbidden_) ? stamp(clock_) : now_by_the_kernel();
    }
    [[nodiscard]] bool full() const noexcept { return full_; }
    [[nodiscard]] uint64_t to_ns(uint64_t ticks) const noexcept {
        return static_cast<uint64_t>(static_cast<double>(ticks) * ns_per_tick_);
    }

    // The phase that the process says it is in. A thread goes along when its next request begins.
    void set_phase(const char *name) noexcept { requests_.say(name); }
    [[nodiscard]] uint32_t phase() const noexcept { return requests_.phase(); }
    void change_phase(ThreadState &thread) noexcept;

    // `thread` has a counter of its own for each size up to this one. False when there is no room for them.
    bool count_more_sizes(ThreadState &thread, size_t size) noexcept;

    // The process is about to lay a filter of system calls on itself: what it may not know is not called any
    // more. In a strict sandbox the thread may do nothing but read, write and end, and records no events.
    void enter_sandbox(ThreadState &thread, bool strict) noexcept;

    // Reading the processor's counter is about to be forbidden to the thread, or allowed again.
    void forbid_tsc(bool forbidden) noexcept;

    // Room for an event of `thread`; null turns the thread off.
    uint8_t *begin_event(ThreadState &thread, size_t most = kMostHotBytes) noexcept;

    // The number of the calling thread's stack; 0 when it cannot be known. New frames and modules are
    // defined.
    uint32_t intern_stack() noexcept;

    // The module that `address` lies in is defined, if the loader knows one. Safe in a signal handler.
    void define_module(uint64_t address) noexcept;

    void note_deepbind() noexcept {
        if (trace_.is_open()) trace_.note_deepbind();
    }

    // A library was closed: what comes to lie where it was is another.
    void forget_closed_modules() noexcept;

    // This process, or its child that shares its memory, is about to become a program that nothing records.
    void note_unrecorded(const char *path, uint32_t reason) noexcept;

    // Whether this is a child that was made past the handlers of fork (_Fork, a system call of its own) and
    // still believes to be its parent.
    [[nodiscard]] bool is_copy() const noexcept { return alive_ != nullptr && *alive_ == 0; }

    WatchList watched;

    // The smallest mean gap between samples: rises with the number of watched blocks, so that these stay few.
    [[nodiscard]] uint64_t period_floor() const noexcept;

    // Called around fork by the handlers that `start` registers.
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept;
    void after_fork_in_child() noexcept;

  private:
    void start(uint32_t flags) noexcept;
    uint64_t began_in_tick(bool forked) noexcept;
    static void turn_off(ThreadState &thread) noexcept;
    void define_self(uint32_t flags) noexcept;
    void define_frame(uint32_t id, uint64_t address, uint32_t parent) noexcept;
    bool give_place(ThreadState &thread) noexcept;
    bool add_counts(ThreadState &thread) noexcept;
    void leave_requests(ThreadState &thread) noexcept;
    [[nodiscard]] Owner owner(const ThreadState &thread) const noexcept;
    [[nodiscard]] Owner process() const noexcept;

    [[nodiscard]] uint64_t now_by_the_kernel() const noexcept;

    enum class State : uint8_t { Fresh, Starting, Running, Off };

    State state_ = State::Fresh;
    bool full_ = false;
    bool tsc_forbidden_ = false;
    uint32_t clock_ = REAP_CLOCK_MONOTONIC_NS;
    double ns_per_tick_ = 1;
    uint32_t number_ = 0;
    uint32_t parent_ = 0; // parent image + 1
    uint32_t pid_ = 0;
    uint64_t process_start_ = 0;
    uint64_t fork_tick_ = 0; // the clock's when a fork began; 0: none is under way
    uint64_t began_ = 0;     // ticks
    uint32_t threads_ = 0;

    FutexLock start_lock_;
    FutexLock definitions_lock_;
    RecordStream definitions_;
    StackTable stacks_;
    struct Module {
        uint64_t start;
        uint64_t end;
        const void *link_map;
    };
    uint32_t module_count_ = 0;

    // The places of threads that have ended, for threads that begin: their counters, with a Handover behind
    // them.
    reap_block_header *idle_ = nullptr;
    FutexLock idle_lock_;

    RequestBlocks requests_;

    uint8_t *alive_ = nullptr; // 1 in memory that the kernel clears in a child

    TraceFile trace_; // its long parts and the modules last: what a child writes to lies on one page
    static constexpr size_t kMostModules = 1024;
    Module modules_[kMostModules] = {};
};

extern Image image;

} // namespace reap::preload
