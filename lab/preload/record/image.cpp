#include "image.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/own_slots.h"
#include "output/lost_pages.h"
#include "real.h"
#include "stack_walk.h"
#include "thread_end.h"
#include "timer_sampler.h"

namespace reap::preload {

alignas(4096) constinit Image image;

namespace {

constexpr size_t kMaxCommand = 4096;

constinit ThreadEnd thread_end{[](void *) { image.leave(thread_state); }};

} // namespace

Owner Image::owner(const ThreadState &thread) const noexcept {
    return {pid_, thread.tid, process_start_, number_, thread.number, thread.began};
}

Owner Image::process() const noexcept { return {pid_, 0, process_start_, number_, 0, began_}; }

void Image::start(uint32_t flags) noexcept {
    thread_end.prepare();
    const char *path = getenv(REAP_TRACE_ENV);
    const char *const socket = getenv(REAP_SOCKET_ENV);
    // Kept, as a program may write over its environment.
    if (socket != nullptr && strlen(socket) == sizeof socket_ - 1) memcpy(socket_, socket, sizeof socket_);
    if (path == nullptr || !trace_.open(path, socket)) {
        state_ = State::Off;
        return;
    }
    is_part_ = trace_.is_part();
    if (has_ended()) {
        is_part_ = false; // nothing depends on the file any more
        state_ = State::Off;
        return;
    }
    guard_lost_pages(trace_);
    full_ = trace_.depth() == REAP_DEPTH_FULL;
    exactly_ = !full_ && trace_.exactness().holds();
    if (trace_.stamps_all()) threading_ = Threading::Several;
    clock_ = trace_.clock();
    first_period_ = Period(trace_.period_bytes());
    by_timer_ = trace_.sampler() == REAP_SAMPLER_TIMER;
    ns_per_tick_ = 1.0;
    if (clock_ == REAP_CLOCK_TSC) ns_per_tick_ = 1e9 / static_cast<double>(trace_.ticks_per_second());
    const Range bootstrap = bootstrap_range();
    WatchList::guard(bootstrap.begin, bootstrap.end); // blocks that free must not forward
    if (!calls_reach_us()) flags |= REAP_IMAGE_BYPASSED;
    patch_own_slots();
    pthread_atfork([] { image.before_fork(); }, [] { image.after_fork_in_parent(); },
                   [] { image.after_fork_in_child(true); });
    auto *page = static_cast<uint8_t *>(map_private(1));
    if (page != nullptr && madvise(page, 1, MADV_WIPEONFORK) == 0) {
        *page = 1;
        alive_ = page;
    }
    define_self(flags);
    if (state_ == State::Running && !trace_.in_sandbox()) define_own_modules();
}

void Image::define_self(uint32_t flags) noexcept {
    began_ = now();
    number_ = trace_.next_image();
    pid_ = static_cast<uint32_t>(raw_call(SYS_getpid));

    // Static, because the stack of the first thread may be small. Written once per image under the start
    // lock.
    static char executable[kMaxPath];
    static char command[kMaxCommand];
    static uint8_t strings[kMaxPath * 2 + kMaxCommand + 64]; // of the record; the same for all forks
    static size_t strings_length;
    const bool forked = (flags & REAP_IMAGE_FORKED) != 0;
    process_start_ = find_process_start(forked);
    if (!forked) {
        const ssize_t linked = readlink("/proc/self/exe", executable, sizeof executable);
        const size_t command_length = read_file("/proc/self/cmdline", command, sizeof command);
        uint8_t *end = format::put_string(strings, executable, linked > 0 ? static_cast<size_t>(linked) : 0);
        end = format::put_string(end, real_provider(), strnlen(real_provider(), kMaxPath));
        end = format::put_string(end, command, command_length);
        strings_length = static_cast<size_t>(end - strings);
    }
    uint8_t numbers[3 * format::kMaxVarint];
    uint8_t *out = format::put_varint(numbers, parent_);
    out = format::put_varint(out, static_cast<uint64_t>(raw_call(SYS_getppid)));
    out = format::put_varint(out, flags);

    const auto numbers_length = static_cast<size_t>(out - numbers);
    const size_t length = numbers_length + strings_length;
    uint8_t *record = nullptr;
    if (add_first_block(forked ? pid_ : thread_id()))
        record = definitions_.begin(trace_, REAP_BLOCK_DEFINITIONS, process(), length + 16);
    if (record == nullptr) {
        state_ = State::Off;
        return;
    }
    *record++ = REAP_TAG_IMAGE;
    record = format::put_varint(record, length);
    raw_copy(record, numbers, numbers_length);
    raw_copy(record + numbers_length, strings, strings_length);
    definitions_.commit(record + length);
    state_ = State::Running;
    if (!forked && !trace_.in_sandbox()) {
        // By its addresses a reader finds the file that serves malloc in what the kernel says of mappings.
        define_module(reinterpret_cast<uint64_t>(real.malloc));
        // Here, and not in each child: its name takes a system call that costs as much as the rest of a
        // sample.
        define_module(getauxval(AT_ENTRY));
    }
    if (by_timer_ && !trace_.in_sandbox()) {
        const ErrnoGuard keep;
        start_timer_sampler(trace_, process(), clock_);
    }
}

void Image::enter(ThreadState &thread) noexcept {
    if (waits()) return; // without the lock: all calls come here
    {
        const LockGuard guard(start_lock_);
        if (state_ == State::Fresh) {
            state_ = State::Starting;
            resolve_real();
            start(0);
        }
        thread.period = first_period_;
    }
    if (waits()) return;
    const bool begins = thread.phase == Phase::Fresh;
    if (begins && !thread.borrows) expect_end(thread);
    thread.tid = thread_id();
    thread.began = now();
    if (state_ != State::Running || has_ended() || !acquire_counts(thread)) {
        if (!begins) return; // one that has already ended needs no counters
        expect_end(thread);
        return retire(thread);
    }
    thread.phase = Phase::Recording;
    thread.last_sample = now();
    thread.random = Random(thread.last_sample ^ static_cast<uint64_t>(thread.tid) << 32);
    if (full_) {
        thread.budget = -1;
        thread.writes = Writes::Events;
    } else {
        thread.budget = gap(thread.random, thread.period.bytes());
        thread.sampled_until += thread.budget;
        exactly() ? begin_exactly(thread) : end_exactly(thread);
    }
    if (thread.takes_over && thread.writes != Writes::Samples) note_takeover(thread);
}

void Image::expect_end(ThreadState &thread) noexcept {
    if (!thread.end_key_set) thread.end_key_set = thread_end.expect(&thread);
}

void Image::note_first_sample(uint64_t ticks) noexcept {
    // A thread that allocates much must not wait long for its first sample because others were short.
    constexpr uint64_t kLargestFirst = 16 * Period::kFirst;
    const LockGuard guard(start_lock_);
    Period next = first_period_;
    // Another thread, which began to wait for the lock later, may have noted its own.
    next.sampled(ticks > first_sampled_ ? to_ns(ticks - first_sampled_) : 0, period_floor());
    first_sampled_ = ticks;
    if (next.bytes() <= kLargestFirst) first_period_ = next;
}

// Its calls are counted all the same, in memory of its own, because then they take the fast path.
void Image::retire(ThreadState &thread) noexcept {
    leave_requests(thread);
    thread.counts_block = nullptr;
    thread.counts = static_cast<reap_counts *>(map_private(sizeof(reap_counts)));
    thread.sizes = REAP_EXACT_SIZES;
    thread.counts_large = true;
    disable(thread);
}

void Image::reach_phase(ThreadState &thread, const char *name) noexcept {
    if (!is_part_) return;
    const Inside inside(thread);
    trace_.reach_phase(name, now());
    if (thread.phase == Phase::Recording && has_ended()) retire(thread);
}

bool Image::acquire_counts(ThreadState &thread) noexcept {
    {
        const LockGuard guard(idle_lock_);
        if (idle_ != nullptr) {
            thread.counts_block = idle_;
            idle_ = Handover::of(idle_)->next;
        }
    }
    if (thread.counts_block != nullptr) {
        const Handover &handed = *Handover::of(thread.counts_block);
        thread.events = handed.events;
        thread.events.need_stamp(); // some time may have passed since
        thread.number = handed.number;
        thread.sizes = handed.sizes;
        thread.counts_large = handed.counts_large;
        thread.sampled_until = static_cast<int64_t>(handed.clock);
        // One that has ended borrows what it has just handed on.
        thread.takes_over = thread.phase == Phase::Fresh && !handed.events.is_new();
        if (handed.full != nullptr) {
            thread.full = handed.full;
            thread.full->known.forget(); // of a stack that may be unmapped
            thread.full->deep.forget();
        }
    } else {
        thread.number = __atomic_fetch_add(&threads_, 1, __ATOMIC_RELAXED);
        thread.sampled_until = 0;
        thread.counts_block = add_counts(owner(thread), thread.sizes, thread.counts_large);
        if (thread.counts_block == nullptr) return false;
    }
    thread.owner = AddressOwners::tag_of(thread.number);
    // Where recording begins when there are threads already, it was never known whether there are.
    if ((full_ || exactly()) && thread.number != 0 && threading_ == Threading::Unknown) see_threads();
    thread.counts = reinterpret_cast<reap_counts *>(TraceFile::payload(thread.counts_block));
    return true;
}

namespace {

constexpr uint32_t kBySize = offsetof(reap_counts, by_size);

// How many sizes have counters in the first `bytes` bytes of the payload.
size_t sizes_within(uint32_t bytes) noexcept {
    const size_t sizes = (bytes - kBySize) / sizeof(uint64_t);
    return sizes < REAP_EXACT_SIZES ? sizes : size_t{REAP_EXACT_SIZES};
}

} // namespace

// Allocates the counters of the smallest sizes. The pages of other sizes are allocated on demand.
reap_block_header *Image::add_counts(const Owner &owner, size_t &sizes, bool &large) noexcept {
    uint32_t room = kBySize + sizeof(uint64_t);
    reap_block_header *const block = trace_.add_block(REAP_BLOCK_COUNTS, owner, 0, owner.began, room);
    if (block == nullptr) return nullptr;
    sizes = sizes_within(room);
    large = room >= sizeof(reap_counts);
    TraceFile::commit(block, sizeof(reap_counts));
    return block;
}

// The counters of the first thread that records, before it does: the process begins its definitions among
// them, so that a child that does little takes one page of the file.
bool Image::add_first_block(uint32_t tid) noexcept {
    Handover first{};
    first.number = threads_++;
    const Owner owner = {pid_, tid, process_start_, number_, first.number, began_};
    reap_block_header *const block = add_counts(owner, first.sizes, first.counts_large);
    if (block == nullptr) return false;
    definitions_.begin_within(TraceFile::payload(block) + offsetof(reap_counts, definitions),
                              REAP_INNER_DEFINITIONS_BYTES, REAP_BLOCK_DEFINITIONS, process());
    *Handover::of(block) = first;
    idle_ = block;
    return true;
}

bool Image::count_more_sizes(ThreadState &thread, size_t size) noexcept {
    const ErrnoGuard keep;
    constexpr size_t kPage = 4096;
    const bool large = size >= REAP_EXACT_SIZES;
    const size_t last = large ? sizeof(reap_counts) : kBySize + (size + 1) * sizeof(uint64_t);
    const size_t end = (REAP_BLOCK_HEADER_BYTES + last + kPage - 1) & ~(kPage - 1);
    const auto until = static_cast<uint32_t>(end - REAP_BLOCK_HEADER_BYTES);
    const auto from = static_cast<uint32_t>(large ? offsetof(reap_counts, large_objects)
                                                  : kBySize + thread.sizes * sizeof(uint64_t));
    if (thread.counts_block == nullptr || !trace_.allocate_pages(thread.counts_block, from, until)) {
        if (trace_.in_sandbox()) trace_.record_stop(REAP_STOP_SANDBOX, 0);
        return false;
    }
    if (large || until >= sizeof(reap_counts)) thread.counts_large = true;
    if (!large) thread.sizes = sizes_within(until);
    if (thread.writes != Writes::Both) thread.exact = thread.sizes;
    return true;
}

void Image::change_phase(ThreadState &thread) noexcept {
    const Inside inside(thread);
    leave_requests(thread);
    thread.request.phase = phase();
    thread.request.block = requests_.acquire(trace_, owner(thread), thread.request.phase);
}

void Image::leave_requests(ThreadState &thread) noexcept {
    if (thread.request.block != nullptr) requests_.release(thread.request.block, thread.request.phase);
    thread.request.block = nullptr;
}

void Image::leave(ThreadState &thread) noexcept {
    const Inside inside(thread); // a signal handler must not wait for the lock
    leave_requests(thread);
    thread.request.depth = 0;
    thread.phase = Phase::Ended;
    thread.end_key_set = false;
    hand_on(thread, static_cast<uint64_t>(thread.sampled_until));
}

bool Image::may_lend(const ThreadState &thread) const noexcept {
    constexpr uint8_t kFewCalls = 8;
    // Not in a part of the run, where a thread may have to wait.
    const bool lending = state_ == State::Running && !full_ && !exactly() && !is_part_ && !thread.busy;
    const bool begins = thread.phase == Phase::Fresh && thread.borrowed_calls < kFewCalls;
    return lending && (begins || thread.phase == Phase::Ended);
}

bool Image::lends(ThreadState &thread) const noexcept {
    if (thread.phase == Phase::Ended) return true;
    if (!may_lend(thread)) return false;
    ++thread.borrowed_calls;
    thread.borrows = true;
    return true;
}

void Image::take_back(ThreadState &thread, Phase before) noexcept {
    if (before == Phase::Ended) return leave(thread);
    const Inside inside(thread);
    const bool keeps = !thread.borrows || thread.phase != Phase::Recording;
    thread.borrows = false;
    if (keeps) return expect_end(thread);
    thread.phase = Phase::Fresh;
    hand_on(thread, thread.bytes_clock());
}

// The thread's counters become available to others; it has none then.
void Image::hand_on(ThreadState &thread, uint64_t clock) noexcept {
    if (thread.writes == Writes::Both) report(thread);
    reap_counts *const counts = thread.counts;
    reap_block_header *const place = thread.counts_block;
    thread.budget = 0;
    thread.mask = 0;
    thread.counts = nullptr;
    thread.counts_block = nullptr;
    if (place == nullptr) {
        if (counts != nullptr) munmap(counts, sizeof(reap_counts));
        return;
    }
    *Handover::of(place) = {thread.events,       clock,       thread.sizes, thread.number,
                            thread.counts_large, thread.full, nullptr};
    thread.full = nullptr;
    thread.events.forget();
    const LockGuard guard(idle_lock_);
    Handover::of(place)->next = idle_;
    idle_ = place;
}

void Image::note_takeover(ThreadState &thread) noexcept {
    thread.takes_over = false;
    if (thread.events.is_new()) return; // a fork's
    uint8_t *const out = begin_event(thread);
    if (out == nullptr) return;
    uint8_t body[3 * format::kMaxVarint];
    uint8_t *end = thread.events.put_plain_stamp(body, now());
    end = format::put_varint(end, REAP_MARK_THREAD);
    end = format::put_varint(end, thread.tid);
    thread.events.commit(RecordStream::put_long(out, REAP_TAG_MARK, body, static_cast<size_t>(end - body)));
}

uint8_t *Image::begin_event_slow(ThreadState &thread) noexcept {
    const ErrnoGuard keep;
    if (!full_ && thread.events.is_new())
        thread.events.begin_within(TraceFile::payload(thread.counts_block) + offsetof(reap_counts, events),
                                   REAP_INNER_EVENTS_BYTES, REAP_BLOCK_EVENTS, owner(thread));
    uint8_t *out = thread.events.begin(trace_, REAP_BLOCK_EVENTS, owner(thread), kMaxHotBytes);
    if (out == nullptr) {
        has_ended() ? retire(thread) : disable(thread);
    } else if (thread.writes != Writes::Samples && thread.events.begins_block()) {
        if (thread.full == nullptr) thread.full = map_full_depth();
        if (thread.full != nullptr) memset(thread.full->stack_places, 0, sizeof thread.full->stack_places);
    }
    return out;
}

bool Image::note_threads() noexcept {
    const bool alone = is_single_threaded();
    if (alone && threading_ == Threading::Unknown) threading_ = Threading::Alone;
    if (!alone && threading_ == Threading::Alone) see_threads();
    return threading_ == Threading::Alone;
}

// For good.
void Image::see_threads() noexcept {
    threading_ = Threading::Several;
    if (!trace_.in_sandbox()) owners_.start();
}

// Where most events are of addresses that pass between threads, marks that move between processors take
// longer than stamps.
void Image::note_meeting(ThreadState &thread) noexcept {
    constexpr uint32_t kMany = 1 << 16;
    if (++thread.meetings < kMany) return;
    if (thread.allocations - thread.allocations_at_meetings < kMany) owners_.stop();
    thread.meetings = 0;
    thread.allocations_at_meetings = thread.allocations;
}

void Image::disable(ThreadState &thread) noexcept {
    thread.phase = Phase::Off;
    if (thread.counts == nullptr) { // out of memory: every call takes the slow path
        thread.budget = -1;
        thread.mask = 0;
        return;
    }
    // The fast paths keep counting. In triage the counters are still in the trace and stay exact.
    thread.budget = INT64_MAX / 2;
    end_exactly(thread);
}

uint64_t Image::period_floor() const noexcept {
    constexpr size_t kComfortable = 4096;
    uint64_t floor = Period::kFirst;
    for (size_t size = watched.size(); size > kComfortable; size /= 2) floor *= 4;
    return floor;
}

uint32_t Image::define_edge(uint32_t parent, uint64_t address) noexcept {
    const ErrnoGuard keep;
    if ((address & REAP_PYTHON_FRAME) == 0) define_module(address - 1);
    const LockGuard guard(definitions_lock_);
    uint32_t id = stacks_.find(parent, address);
    if (id != 0) return id;
    id = stacks_.add(parent, address);
    if (id == 0) return 0;
    if (exactly()) __atomic_fetch_add(&frames_, 1, __ATOMIC_RELAXED);
    define_frame(id, address, parent);
    return id;
}

uint32_t Image::intern_stack(ThreadState &thread, const void *frame) noexcept {
    if (unlikely(thread.full == nullptr)) {
        constexpr uint8_t kFewWalks = 8; // a thread with so few samples needs no memory for them
        if (!full_ && thread.walks++ < kFewWalks) return intern_by_walk(thread);
        const ErrnoGuard keep;
        thread.full = map_full_depth();
    }
    uint32_t id;
    const auto edge = [this](uint32_t parent, uint64_t address) { return intern_edge(parent, address); };
    if (unlikely(thread.full == nullptr) ||
        unlikely(!unwinder_.intern(thread.full->known, frame, thread.full->limit, edge, id)))
        id = intern_by_walk(thread);
    return likely(!python_.there()) ? id : add_python(thread, id);
}

FullDepth *Image::map_full_depth() noexcept {
    auto *const full = static_cast<FullDepth *>(map_private(sizeof(FullDepth)));
    if (full != nullptr) full->limit = kMaxFrames;
    return full;
}

uint32_t Image::intern_by_walk(ThreadState &thread) noexcept {
    const ErrnoGuard keep;
    constexpr size_t kFewFrames = 128; // have room on a small stack
    if (thread.full == nullptr) {
        uint64_t frames[kFewFrames];
        const size_t count = unwinder_.walk(frames, kFewFrames);
        if (count == kFewFrames) thread.full = map_full_depth();
        if (thread.full == nullptr) return intern_frames(0, frames, count);
    }
    DeepStack &deep = thread.full->deep;
    const bool left_out = unwinder_.walk_deep(deep);
    thread.walked += static_cast<uint32_t>(deep.count);
    thread.full->limit = left_out ? kFewFrames : kMaxFrames;
    if (left_out) thread.full->known.count = 0; // comparing many frames would find nothing
    if (left_out && !number_outer(deep)) return 0;
    return intern_frames(left_out ? deep.base : 0, deep.frames, deep.count);
}

uint32_t Image::intern_frames(uint32_t parent, const uint64_t *frames, size_t count) noexcept {
    for (size_t left = count; left != 0; --left) {
        parent = intern_edge(parent, frames[left - 1]);
        if (parent == 0) break;
    }
    return parent;
}

// False if there is no memory.
bool Image::number_outer(DeepStack &deep) noexcept {
    if (deep.base != 0) return true;
    uint32_t id = 0;
    for (size_t left = deep.outer_count; left != 0; --left) {
        id = intern_edge(id, deep.outer[left - 1].value);
        if (id == 0) return false;
    }
    deep.base = intern_edge(id, REAP_FRAMES_LEFT_OUT);
    return deep.base != 0;
}

void Image::define_frame(uint32_t id, uint64_t address, uint32_t parent) noexcept {
    uint8_t body[3 * format::kMaxVarint];
    uint8_t *end = format::put_varint(body, id);
    end = format::put_varint(end, address);
    end = format::put_varint(end, parent);
    if (uint8_t *out = definitions_.begin(trace_, REAP_BLOCK_DEFINITIONS, process(), sizeof body + 16)) {
        definitions_.commit(
            RecordStream::put_long(out, REAP_TAG_FRAME, body, static_cast<size_t>(end - body)));
    }
}

} // namespace reap::preload
