// One process image of the recorded tree: started by exec or fork, ended by exit, exec or a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/syscall.h>

#include "address_owners.h"
#include "output/record_stream.h"
#include "output/request_blocks.h"
#include "output/trace_file.h"
#include "platform.h"
#include "python/stacks.h"
#include "stack_table.h"
#include "stamp.h"
#include "thread_state.h"
#include "unwinder.h"
#include "watch_list.h"

namespace reap::preload {

class Image {
    uint8_t kept_ = 1;
    uint8_t *alive_ = &kept_; // 1 in memory that the kernel clears in a child

  public:
    // Prepares `thread` for recording; its phase is the result. Starts the image for the first thread.
    void enter(ThreadState &thread) noexcept;

    // The thread's destructors have run: its counters become available to other threads.
    void leave(ThreadState &thread) noexcept;

    // Whether a thread is to borrow idle counters for its next call: one that has ended, and in triage one
    // that has made few calls, as counters of its own take a page of the file, and while that is allocated
    // threads that begin wait for the lock of the process's mappings. A new one keeps them when it takes a
    // sample, so that all its events are in one stream.
    [[nodiscard]] bool lends(ThreadState &thread) const noexcept;
    // The same, in triage, before it is done.
    [[nodiscard]] bool may_lend(const ThreadState &thread) const noexcept;
    // The call has ended; `before` is the phase in which the thread made it.
    void take_back(ThreadState &thread, Phase before) noexcept;

    // The thread takes its first sample, at `ticks`.
    void note_first_sample(uint64_t ticks) noexcept;

    [[nodiscard]] uint64_t now() const noexcept {
        return likely(!tsc_forbidden_) ? stamp(clock_) : now_by_syscall();
    }
    [[nodiscard]] bool full() const noexcept { return full_; }
    [[nodiscard]] uint64_t to_ns(uint64_t ticks) const noexcept {
        return static_cast<uint64_t>(static_cast<double>(ticks) * ns_per_tick_);
    }

    // Whether a part of the run is recorded; whether that has not begun, and whether it has ended, for all.
    [[nodiscard]] bool is_part() const noexcept { return is_part_; }
    [[nodiscard]] bool waits() const noexcept { return is_part_ && trace_.gate() == REAP_GATE_SHUT; }
    [[nodiscard]] bool has_ended() const noexcept { return is_part_ && trace_.gate() == REAP_GATE_ENDED; }

    // The program enters a phase, at which the part may begin or end.
    void reach_phase(ThreadState &thread, const char *name) noexcept;

    // Nothing more of `thread` is recorded, nor counted for the trace.
    REAP_COLD void retire(ThreadState &thread) noexcept;

    // The phase set by the process. A thread enters it when its next request begins.
    void set_phase(const char *name) noexcept { requests_.set_phase(name); }
    [[nodiscard]] uint32_t phase() const noexcept { return requests_.phase(); }
    void change_phase(ThreadState &thread) noexcept;

    // Gives `thread` counters for all sizes up to this one, or for all from REAP_EXACT_SIZES on if it is one
    // of them. False if there is no space for them.
    bool count_more_sizes(ThreadState &thread, size_t size) noexcept;

    // The process is about to install a system call filter: calls that it may forbid are no longer made. In a
    // strict sandbox the thread may only read, write and exit, and records no events.
    void enter_sandbox(ThreadState &thread, bool strict) noexcept;

    // Reading the TSC is about to be forbidden or allowed for the thread.
    void forbid_tsc(bool forbidden) noexcept;

    // Writes that the events from here on are of `thread`, and those before of one that has ended.
    REAP_COLD void note_takeover(ThreadState &thread) noexcept;

    // Whether every event is written in triage, too, as far as this process knows.
    [[nodiscard]] bool exactly() const noexcept { return __atomic_load_n(&exactly_, __ATOMIC_RELAXED); }

    // Space for an event of a thread that writes both; false where it no longer does.
    bool goes_on_exactly(ThreadState &thread) noexcept {
        return likely(thread.events.has_room(kMaxHotBytes)) || renew_exactness(thread);
    }

    // Space for an event of `thread`; on null the thread is disabled.
    uint8_t *begin_event(ThreadState &thread) noexcept {
        return likely(thread.events.has_room(kMaxHotBytes)) ? thread.events.cursor()
                                                            : begin_event_slow(thread);
    }

    // Whether the order of an event at `address` is known without a stamp; `size` is that of an allocation.
    [[nodiscard]] bool needs_no_stamp(const ThreadState &thread, const void *address, size_t size) noexcept {
        const bool alone = known_alone() || (threading_ != Threading::Several && note_threads());
        return likely(alone) || needs_no_stamp_among_threads(thread, address, size);
    }
    // The same as far as it has been found out before.
    [[nodiscard]] bool known_to_need_no_stamp(const ThreadState &thread, const void *address,
                                              size_t size) const noexcept {
        return known_alone() || needs_no_stamp_among_threads(thread, address, size);
    }

    // The stamp of an event at `address`: see AddressOwners::stamp.
    [[nodiscard]] uint64_t stamp_at(ThreadState &thread, const void *address, size_t size = 0) noexcept {
        const AddressOwners::Stamp stamp = owners_.stamp(thread.owner, address, [this] { return now(); });
        if (unlikely(stamp.taken)) note_meeting(thread);
        if (unlikely(size >= kAlwaysStamped)) owners_.release(address);
        return stamp.ticks;
    }

    // The number of the calling thread's stack; 0 if it is unknown. Defines new frames and modules. `frame`
    // is __builtin_frame_address(0) of a function that an entry point called: its frames and those of its
    // callers are the recorder's as far as they have its code.
    uint32_t intern_stack(ThreadState &thread, const void *frame) noexcept;

    // The same for a recent stack without Python functions; else 0.
    [[nodiscard, gnu::always_inline]] uint32_t find_stack(const ThreadState &thread,
                                                          const void *frame) const noexcept {
        if (unlikely(thread.full == nullptr || python_.there())) return 0;
        return unwinder_.find_recent(thread.full->known, frame);
    }

    // Defines the module that contains `address`, if the loader knows one. Async-signal-safe.
    void define_module(uint64_t address) noexcept;

    void note_deepbind() noexcept {
        if (trace_.is_open()) trace_.note_deepbind();
    }

    // Called around dlclose: frames of a library that is being unloaded must not be remembered.
    void before_unload(const void *handle) noexcept {
        before_close(handle);
        unwinder_.before_unload();
    }
    void after_unload() noexcept { unwinder_.after_unload(); }

    // The library `file` (null: the program itself) is about to be opened: notices others that were closed
    // past dlclose, by a copy of the C library or through its address.
    void before_load(const char *file) noexcept;

    // A library was closed: another module may be loaded at its address.
    void forget_closed_modules() noexcept;

    // A process executes a program that is not recorded, or is about to: see enum reap_unrecorded. 0: this
    // process, or its vfork child.
    void note_unrecorded(uint32_t pid, const char *path, uint32_t reason) noexcept;

    // Whether this is a child whose fork bypassed the handlers (_Fork, a raw system call), so that it still
    // has its parent's state.
    [[nodiscard]] bool is_copy() const noexcept { return *alive_ == 0; }

    // Whether this is the image's process: not a child that shares its parent's memory (vfork).
    [[nodiscard]] bool runs_here() const noexcept {
        return pid_ == static_cast<uint32_t>(raw_call(SYS_getpid));
    }

    WatchList watched;

    // The minimum mean gap between samples: grows with the number of watched blocks, to keep these few.
    [[nodiscard]] uint64_t period_floor() const noexcept;

    // Called around fork by the handlers that `start` registers.
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept;
    void after_fork_in_child(bool by_handler) noexcept;

  private:
    REAP_COLD uint8_t *begin_event_slow(ThreadState &thread) noexcept;
    REAP_COLD bool renew_exactness(ThreadState &thread) noexcept;
    bool report(ThreadState &thread) noexcept;
    static void begin_exactly(ThreadState &thread) noexcept;
    static void end_exactly(ThreadState &thread) noexcept;
    void start(uint32_t flags) noexcept;
    void expect_end(ThreadState &thread) noexcept;
    void hand_on(ThreadState &thread, uint64_t clock) noexcept;
    uint64_t find_process_start(bool forked) noexcept;
    static void disable(ThreadState &thread) noexcept;
    void define_self(uint32_t flags) noexcept;
    uint32_t intern_edge(uint32_t parent, uint64_t address) noexcept {
        const uint32_t id = stacks_.find(parent, address);
        return likely(id != 0) ? id : define_edge(parent, address);
    }
    REAP_COLD uint32_t define_edge(uint32_t parent, uint64_t address) noexcept;
    FullDepth *map_full_depth() noexcept;
    [[gnu::noinline]] uint32_t intern_by_walk(ThreadState &thread) noexcept;
    uint32_t intern_frames(uint32_t parent, const uint64_t *frames, size_t count) noexcept;
    bool number_outer(DeepStack &deep) noexcept;
    [[gnu::noinline]] uint32_t add_python(ThreadState &thread, uint32_t native) noexcept;
    REAP_COLD uint32_t merge_python(FullDepth &full, uint32_t native) noexcept;
    void note_python(reap_unknown_code why) noexcept;
    // Has the launcher hold the file of a module, where it may be gone when the recording ends.
    void lend(const char *path, const char *name, size_t length) noexcept;
    void define_python(uint32_t location, const PythonLayout &layout, const PythonFrame &frame) noexcept;
    void define_frame(uint32_t id, uint64_t address, uint32_t parent) noexcept;
    bool acquire_counts(ThreadState &thread) noexcept;
    bool add_first_block(uint32_t tid) noexcept;
    reap_block_header *add_counts(const Owner &owner, size_t &sizes, bool &large) noexcept;
    void leave_requests(ThreadState &thread) noexcept;
    [[nodiscard]] Owner owner(const ThreadState &thread) const noexcept;
    [[nodiscard]] Owner process() const noexcept;

    [[nodiscard]] uint64_t now_by_syscall() const noexcept;
    REAP_COLD bool note_threads() noexcept;
    void see_threads() noexcept;
    REAP_COLD void note_meeting(ThreadState &thread) noexcept;

    // Whether it is known that the process has never had a second thread. The C library says so before it
    // prepares the second one, for which it allocates: that event has a stamp again, and lies before all of
    // the second thread's.
    [[nodiscard]] bool known_alone() const noexcept {
        return threading_ == Threading::Alone && is_single_threaded();
    }
    [[nodiscard]] bool needs_no_stamp_among_threads(const ThreadState &thread, const void *address,
                                                    size_t size) const noexcept {
        return size < kAlwaysStamped && thread.events.may_skip_among_threads() &&
               owners_.owns(thread.owner, address);
    }

    // Unknown until the C library has been initialised. As Several where every event is to have a stamp.
    enum class Threading : uint8_t { Unknown, Alone, Several };
    Threading threading_ = Threading::Unknown;

    // Among several threads a block of so many bytes has the time of its allocation, and nearly always that
    // of its free: where in the order of all threads it is may decide about the most bytes in use.
    static constexpr size_t kAlwaysStamped = 4096;
    AddressOwners owners_;

    enum class State : uint8_t { Fresh, Starting, Running, Off };

    State state_ = State::Fresh;
    static constexpr size_t kMaxFrames = kMostKnownFrames;
    static constexpr size_t kMaxPath = 4096;
    bool full_ = false;
    bool exactly_ = false; // (atomic) see Exactness; false for good once another process has ended it
    bool is_part_ = false;
    bool by_timer_ = false; // a timer samples; this and the period are kept here since a forked child
    Period first_period_;   // would have to map the trace's header to read them
    // The period is that of threads that begin, which take their first samples about as often together as
    // one thread takes samples.
    uint64_t first_sampled_ = 0; // ticks
    bool tsc_forbidden_ = false;
    uint32_t clock_ = REAP_CLOCK_MONOTONIC_NS;
    double ns_per_tick_ = 1;
    uint32_t number_ = 0;
    uint32_t parent_ = 0; // parent image + 1
    uint32_t pid_ = 0;
    uint64_t process_start_ = 0;
    uint64_t fork_tick_ = 0; // boot ticks at the beginning of a fork; 0: no fork in progress
    uint64_t began_ = 0;     // ticks
    uint32_t threads_ = 0;
    uint32_t frames_ = 0; // (atomic) defined since the latest report to Exactness

    char socket_[2 * REAP_SOCKET_NAME + 1] = {}; // the launcher's: see REAP_SOCKET_ENV
    FutexLock start_lock_;
    FutexLock definitions_lock_;
    RecordStream definitions_;
    StackTable stacks_;
    Unwinder unwinder_;
    PythonInterpreter python_;
    PythonStacks python_stacks_;
    struct Module {
        uint64_t start; // 0 once it was closed, and the end before that
        uint64_t end;
        const void *link_map;
        [[nodiscard]] bool contains(uint64_t address) const noexcept {
            const uint64_t begin = __atomic_load_n(&start, __ATOMIC_ACQUIRE);
            return address >= begin && address < __atomic_load_n(&end, __ATOMIC_RELAXED);
        }
    };
    uint32_t module_count_ = 0;
    uint32_t latest_module_ = 0; // (atomic) the one that was asked for last

    // The counter blocks of ended threads, for reuse by new ones; a Handover follows the counters.
    reap_block_header *idle_ = nullptr;
    FutexLock idle_lock_;

    RequestBlocks requests_;

    TraceFile trace_; // large members and the modules come last: a forked child writes to one page only
    static constexpr size_t kMaxModules = 1024;
    Module modules_[kMaxModules] = {};
};

extern Image image;

} // namespace reap::preload
