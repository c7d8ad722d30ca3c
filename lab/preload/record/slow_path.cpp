// Is long because its parts are inlined into each other: what an event takes has a golden count.
#include "slow_path.h"

#include <cstring>

namespace reap::preload {
namespace {

void count_into(reap_counts &counts, reap_call call, size_t size, bool succeeded) noexcept {
    if (call != REAP_CALL_MALLOC) ++counts.calls[call];
    if (!succeeded) {
        ++counts.failures;
    } else if (size < REAP_EXACT_SIZES) {
        ++counts.by_size[size];
    } else {
        const unsigned bin = format::large_bin(size);
        ++counts.large_objects[bin];
        counts.large_bytes[bin] += size;
    }
}

// Counts a size whose own counter would take another page of the file. False: it is no longer rare.
bool count_rare(reap_counts &counts, size_t size) noexcept {
    constexpr uint64_t kMostObjects = 32;
    for (reap_rare &rare : counts.rare) {
        if (rare.objects == 0) rare.size = size;
        if (rare.size != size) continue;
        if (rare.objects == kMostObjects) return false;
        ++rare.objects;
        return true;
    }
    return false;
}

// Applies `change` to this thread's counters, if it has any.
template <class Change>
void on_counts(ThreadState &thread, Change change) noexcept {
    if (thread.counts != nullptr) change(*thread.counts);
}

void count_free(ThreadState &thread, reap_call call) noexcept {
    on_counts(thread, [call](reap_counts &counts) {
        if (call != REAP_CALL_FREE) ++counts.calls[call];
        ++counts.frees;
    });
}

// False for nearly all blocks that are not watched.
bool may_be_watched(const void *pointer) noexcept {
    return WatchList::filter[WatchList::slot(pointer, WatchList::kMask)] != 0;
}

// For request counts: an allocation call has returned.
void count_block(ThreadState &thread, size_t size, bool succeeded) noexcept {
    if (succeeded) {
        ++thread.allocations;
    } else {
        thread.note_failure(size);
    }
}

REAP_COLD void count_size(ThreadState &thread, reap_call call, size_t size, bool succeeded) noexcept {
    // A process that uses few sizes has few pages of counters.
    const bool ready = size < REAP_EXACT_SIZES ? size < thread.sizes : thread.counts_large;
    on_counts(thread, [=, &thread](reap_counts &counts) {
        if (!ready && succeeded && count_rare(counts, size)) {
            if (call != REAP_CALL_MALLOC) ++counts.calls[call];
        } else if (ready || !succeeded || image.count_more_sizes(thread, size)) {
            count_into(counts, call, size, succeeded);
        }
    });
}

// Summing the table takes about a microsecond; only samples do it. Pages that are not allocated are not read:
// on a full tmpfs even a read raises SIGBUS.
uint64_t allocations(const ThreadState &thread) noexcept {
    const reap_counts &counts = *thread.counts;
    uint64_t sum = 0;
    for (size_t size = 0; size < thread.sizes; ++size) sum += counts.by_size[size];
    for (const reap_rare &rare : counts.rare) sum += rare.objects;
    if (!thread.counts_large) return sum;
    for (const uint64_t count : counts.large_objects) sum += count;
    return sum;
}

void schedule_next_sample(ThreadState &thread, uint64_t now) noexcept {
    thread.period.sampled(image.to_ns(now - thread.last_sample), image.period_floor());
    thread.last_sample = now;
    const auto clock = static_cast<int64_t>(thread.bytes_clock());
    thread.budget = gap(thread.random, thread.period.bytes());
    thread.sampled_until = clock + thread.budget;
}

void record_sample_end(ThreadState &thread, const void *pointer, uint64_t before, uint64_t after) noexcept {
    const Inside inside(thread);
    if (unlikely(thread.takes_over)) image.note_takeover(thread);
    uint8_t *out = image.begin_event(thread);
    if (out == nullptr) return;
    // The body's length precedes it; for a sample's end it fits into one byte.
    uint8_t *const length = out + 1;
    *out = REAP_TAG_SAMPLE_END;
    uint8_t *end = length + 1;
    end = thread.events.put_plain_stamp(end, before);
    end = format::put_varint(end, reinterpret_cast<uint64_t>(pointer));
    end = format::put_varint(end, after - before);
    end = format::put_varint(end, thread.number);
    end = format::put_varint(end, thread.bytes_clock());
    *length = static_cast<uint8_t>(end - length - 1);
    thread.events.commit(end);
}

// Whether the next record, of an event at `address`, needs no stamp, as nearly all. `size`: of an allocation.
bool needs_no_stamp(const ThreadState &thread, const void *address, size_t size = 0) noexcept {
    return thread.events.may_skip_stamp() && image.needs_no_stamp(thread, address, size);
}
// The same; false where that is still to be found out.
[[gnu::always_inline]] inline bool known_to_need_no_stamp(const ThreadState &thread, const void *address,
                                                          size_t size = 0) noexcept {
    return thread.events.may_skip_stamp() && image.known_to_need_no_stamp(thread, address, size);
}

// With the time at which the call was made, unless it is left to be found between others.
void record_free(ThreadState &thread, reap_call call, const void *pointer, uint64_t before) noexcept {
    const Busy busy(thread);
    uint8_t *out = image.begin_event(thread);
    if (out == nullptr) return count_free(thread, call);
    *out++ = format::hot_tag(REAP_TAG_FREE, call);
    out = thread.events.put_stamp(out, before);
    out = thread.events.put_address(out, pointer);
    thread.events.commit(out);
}

void record_free(ThreadState &thread, reap_call call, const void *pointer) noexcept {
    const Busy busy(thread);
    uint8_t *out = image.begin_event(thread);
    if (unlikely(out == nullptr)) return count_free(thread, call); // recording stopped with this event
    if (likely(needs_no_stamp(thread, pointer))) {
        *out++ = format::hot_tag(REAP_TAG_QUICK_FREE, call);
        thread.events.skip_stamp(-1);
    } else {
        *out++ = format::hot_tag(REAP_TAG_FREE, call);
        out = thread.events.put_stamp(out, image.stamp_at(thread, pointer));
    }
    out = thread.events.put_address(out, pointer);
    thread.events.commit(out);
}

// An allocation without a stamp.
void put_quick(ThreadState &thread, uint8_t *out, reap_call call, size_t size, const void *pointer,
               uint32_t stack) noexcept {
    uint32_t &place = thread.full->stack_places[stack % REAP_STACK_PLACES];
    const bool known = place == stack;
    *out++ = format::hot_tag(known ? REAP_TAG_QUICK_KNOWN : REAP_TAG_QUICK_ALLOC, call);
    out = format::put_short_varint(out, size);
    out = thread.events.put_address(out, pointer);
    if (known) {
        *out++ = static_cast<uint8_t>(stack % REAP_STACK_PLACES);
    } else {
        place = stack;
        out = format::put_short_varint(out, stack);
    }
    thread.events.skip_stamp(1);
    thread.events.commit(out);
}

// Ends a packed record of an event at `address`, with its time if it is one with a stamp. Null if that takes
// more than a short one. `kBlocks`: how many more blocks are in use by it.
template <bool kTimed, int kBlocks>
[[gnu::always_inline]] inline uint8_t *put_time(ThreadState &thread, uint8_t *out, const void *address,
                                                size_t size = 0) noexcept {
    if constexpr (kTimed) {
        out = thread.events.put_short_stamp(out, image.stamp_at(thread, address, size));
        // The longer record has a stamp, too, though the thread may own the address only since this one.
        if (unlikely(out == nullptr)) thread.events.need_stamp();
    } else {
        thread.events.skip_stamp(kBlocks);
    }
    return out;
}

constexpr unsigned kPackedBits = 4; // of the tag, from here on

// Records a call of malloc in a packed record; false, and nothing has been done, if it is none for that.
template <bool kTimed>
[[gnu::always_inline]] inline bool put_packed_malloc(ThreadState &thread, size_t size, const void *pointer,
                                                     uint32_t stack) noexcept {
    const bool may = thread.events.has_room(kMaxHotBytes) && thread.full != nullptr && pointer != nullptr;
    if (unlikely(!may)) return false;
    uint8_t *const begin = thread.events.cursor();
    const uint64_t step = thread.events.step_to(pointer);
    const auto place = static_cast<uint8_t>(stack % REAP_STACK_PLACES);
    if (unlikely((step | size) >> 32 != 0 || thread.full->stack_places[place] != stack)) return false;
    const unsigned size_more = format::packed_more(static_cast<uint32_t>(size));
    const unsigned step_more = format::packed_more(static_cast<uint32_t>(step));
    constexpr reap_tag kTag = kTimed ? REAP_TAG_TIMED_MALLOC : REAP_TAG_PACKED_MALLOC;
    *begin = static_cast<uint8_t>(kTag | (size_more | step_more << 2) << kPackedBits);
    uint8_t *out = format::put_packed(begin + 1, static_cast<uint32_t>(size), size_more);
    out = format::put_packed(out, static_cast<uint32_t>(step), step_more);
    *out++ = place;
    out = put_time<kTimed, 1>(thread, out, pointer, size);
    if (kTimed && unlikely(out == nullptr)) return false;
    thread.events.set_address(pointer);
    thread.events.commit(out);
    ++thread.allocations;
    return true;
}

// The same for a call of free.
template <bool kTimed>
[[gnu::always_inline]] inline bool put_packed_free(ThreadState &thread, const void *pointer) noexcept {
    if (unlikely(!thread.events.has_room(kMaxHotBytes))) return false;
    uint8_t *const begin = thread.events.cursor();
    const uint64_t step = thread.events.step_to(pointer);
    if (unlikely(step >> 32 != 0)) return false;
    const unsigned more = format::packed_more(static_cast<uint32_t>(step));
    constexpr reap_tag kTag = kTimed ? REAP_TAG_TIMED_FREE : REAP_TAG_PACKED_FREE;
    *begin = static_cast<uint8_t>(kTag | more << kPackedBits);
    uint8_t *out = format::put_packed(begin + 1, static_cast<uint32_t>(step), more);
    out = put_time<kTimed, -1>(thread, out, pointer);
    if (kTimed && unlikely(out == nullptr)) return false;
    thread.events.set_address(pointer);
    thread.events.commit(out);
    return true;
}

void record_reallocation(ThreadState &thread, reap_call call, const void *from, const void *to, size_t size,
                         uint64_t before, uint64_t after, const void *frame) noexcept {
    const Busy busy(thread);
    const uint32_t stack = image.intern_stack(thread, frame);
    uint8_t *out = image.begin_event(thread);
    if (out == nullptr) {
        count_size(thread, call, size, true);
        return on_counts(thread, [](reap_counts &counts) { ++counts.frees; });
    }
    *out++ = format::hot_tag(REAP_TAG_REALLOC, call);
    out = thread.events.put_stamp(out, before);
    out = thread.events.put_stamp(out, after);
    out = thread.events.put_address(out, from);
    out = thread.events.put_address(out, to);
    out = format::put_varint(out, size);
    out = format::put_varint(out, stack);
    thread.events.commit(out);
}

void *call_realloc(void *pointer, size_t size) {
    if (!is_bootstrap(pointer)) return real.realloc(pointer, size);
    // Blocks of the bootstrap heap cannot be resized: copy. The header is 16 bytes before the block.
    void *fresh = real.malloc(size);
    size_t old;
    memcpy(&old, static_cast<const unsigned char *>(pointer) - 16, sizeof old);
    if (fresh != nullptr) memcpy(fresh, pointer, old < size ? old : size);
    return fresh;
}

} // namespace

// Called before an exec and a dlopen: see lab/preload/exec.
REAP_EXPORT void reap_note_deepbind() { image.note_deepbind(); }

REAP_EXPORT void reap_note_unrecorded(pid_t process, const char *path, uint32_t reason) {
    if (!ready(thread_state)) return;
    const Inside inside(thread_state);
    image.note_unrecorded(static_cast<uint32_t>(process), path, reason);
}

bool make_ready(ThreadState &thread) noexcept {
    if (thread.busy) {
        if (thread.counts != nullptr) ++thread.counts->skipped;
        return false;
    }
    if (unlikely(image.is_copy())) {
        const Inside inside(thread);
        image.after_fork_in_child(false);
    }
    if (thread.phase == Phase::Fresh || thread.phase == Phase::Ended) {
        // What the current call spends also counts against the first gap, else a thread's first allocation
        // could never be sampled. (Allocations by the recorder's own start do not count.)
        const int64_t spent = thread.budget;
        const Inside inside(thread);
        image.enter(thread);
        if (thread.phase == Phase::Recording) thread.budget += spent;
        if (thread.phase == Phase::Fresh) thread.budget = 0; // it waits, see Image::waits
    }
    return thread.phase == Phase::Recording;
}

void count_allocation(ThreadState &thread, reap_call call, size_t size, bool succeeded) noexcept {
    count_size(thread, call, size, succeeded);
    count_block(thread, size, succeeded);
}

void record_sample(ThreadState &thread, reap_call call, size_t size, void *pointer, uint64_t before,
                   uint64_t after, const void *frame) noexcept {
    const Inside inside(thread);
    if (unlikely(image.has_ended())) return image.retire(thread);
    const uint64_t period = thread.period.bytes();
    const uint64_t clock = thread.bytes_clock();
    if (unlikely(!thread.has_sample)) image.note_first_sample(after);
    thread.has_sample = true;
    schedule_next_sample(thread, after);
    if (pointer == nullptr || !image.watched.add(pointer)) return;
    thread.borrows = false; // it keeps its counters
    if (unlikely(thread.takes_over)) image.note_takeover(thread);
    const uint32_t stack = image.intern_stack(thread, frame);
    uint8_t *out = image.begin_event(thread);
    if (out == nullptr) return;
    uint8_t *const length = out + 1;
    *out = REAP_TAG_SAMPLE;
    uint8_t *end = length + 1;
    end = thread.events.put_plain_stamp(end, after);
    end = format::put_varint(end, call);
    end = format::put_varint(end, size);
    end = format::put_varint(end, reinterpret_cast<uint64_t>(pointer));
    end = format::put_varint(end, stack);
    end = format::put_varint(end, period);
    end = format::put_varint(end, after - before);
    end = format::put_varint(end, clock);
    end = format::put_varint(end, thread.counts == nullptr ? 0 : allocations(thread));
    end = format::put_varint(end, thread.counts == nullptr ? 0 : thread.counts->frees);
    *length = static_cast<uint8_t>(end - length - 1);
    thread.events.commit(end);
}

namespace {

// An allocation in a record that is not packed.
[[gnu::always_inline]] inline void write_allocation(ThreadState &thread, reap_call call, size_t size,
                                                    size_t alignment, const void *pointer, uint32_t stack,
                                                    bool timed) noexcept {
    uint8_t *out = image.begin_event(thread);
    if (unlikely(out == nullptr)) return count_size(thread, call, size, pointer != nullptr);
    const bool plain = pointer != nullptr && alignment == 0 && thread.full != nullptr;
    // A block that has just begun has no stamp yet.
    if (plain && !timed && thread.events.may_skip_stamp())
        return put_quick(thread, out, call, size, pointer, stack);
    reap_tag tag = alignment != 0 ? REAP_TAG_ALIGNED : REAP_TAG_ALLOC;
    if (plain) {
        tag = REAP_TAG_KEPT_ALLOC;
        thread.full->stack_places[stack % REAP_STACK_PLACES] = stack;
    }
    if (unlikely(pointer == nullptr)) tag = REAP_TAG_FAILED;
    *out++ = format::hot_tag(tag, call);
    out = thread.events.put_stamp(out, image.stamp_at(thread, pointer, size));
    out = format::put_short_varint(out, size);
    if (likely(pointer != nullptr)) out = thread.events.put_address(out, pointer);
    out = format::put_short_varint(out, stack);
    if (tag == REAP_TAG_ALIGNED)
        out = format::put_varint(out, static_cast<uint64_t>(__builtin_ctzll(alignment)));
    thread.events.commit(out);
}

// Any allocation that has this stack.
[[gnu::always_inline]] inline void record_with_stack(ThreadState &thread, reap_call call, size_t size,
                                                     size_t alignment, const void *pointer,
                                                     uint32_t stack) noexcept {
    const bool timed = !needs_no_stamp(thread, pointer, size);
    if (call == REAP_CALL_MALLOC && timed && put_packed_malloc<true>(thread, size, pointer, stack)) return;
    count_block(thread, size, pointer != nullptr);
    write_allocation(thread, call, size, alignment, pointer, stack, timed);
}

// Any allocation. The stack begins with the caller.
[[gnu::noinline]] void *record_any_allocation(ThreadState &thread, reap_call call, size_t size,
                                              size_t alignment, void *pointer) noexcept {
    const Busy busy(thread);
    const uint32_t stack = image.intern_stack(thread, __builtin_frame_address(0));
    record_with_stack(thread, call, size, alignment, pointer, stack);
    return pointer;
}

} // namespace

void *record_allocation(ThreadState &thread, reap_call call, size_t size, size_t alignment,
                        void *pointer) noexcept {
    bool quick = false;
    if (likely(call == REAP_CALL_MALLOC)) {
        const Busy busy(thread);
        if (likely(known_to_need_no_stamp(thread, pointer, size))) {
            const uint32_t stack = image.find_stack(thread, __builtin_frame_address(0));
            quick = stack != 0 && put_packed_malloc<false>(thread, size, pointer, stack);
        }
    }
    return likely(quick) ? pointer : record_any_allocation(thread, call, size, alignment, pointer);
}

namespace {

// Counts an allocation in triage; whether it is to be written as well.
bool count_exactly(ThreadState &thread, reap_call call, size_t size, bool succeeded) noexcept {
    const bool both = thread.writes == Writes::Both; // so it has counters
    if (likely(both && size < thread.sizes && succeeded)) {
        ++thread.counts->by_size[size];
        if (call != REAP_CALL_MALLOC) ++thread.counts->calls[call];
    } else {
        count_size(thread, call, size, succeeded);
    }
    if (both && image.goes_on_exactly(thread)) return true;
    count_block(thread, size, succeeded);
    return false;
}

} // namespace

void *note_allocation(ThreadState &thread, reap_call call, size_t size, size_t alignment,
                      void *pointer) noexcept {
    bool written;
    {
        const Busy busy(thread);
        written = !count_exactly(thread, call, size, pointer != nullptr);
        if (!written && call == REAP_CALL_MALLOC && known_to_need_no_stamp(thread, pointer, size)) {
            const uint32_t stack = image.find_stack(thread, __builtin_frame_address(0));
            written = stack != 0 && put_packed_malloc<false>(thread, size, pointer, stack);
        }
        if (!written) ++thread.walked;
    }
    return likely(written) ? pointer : record_any_allocation(thread, call, size, alignment, pointer);
}

namespace {

// A free in triage: counts it, and writes it where every event is written.
void note_free_in_triage(ThreadState &thread, reap_call call, const void *pointer) noexcept {
    count_free(thread, call);
    if (thread.writes != Writes::Both) return;
    const Busy busy(thread);
    if (!image.goes_on_exactly(thread)) return;
    if (call == REAP_CALL_FREE) {
        const bool known = known_to_need_no_stamp(thread, pointer);
        if (known && put_packed_free<false>(thread, pointer)) return;
        if (!known && !needs_no_stamp(thread, pointer) && put_packed_free<true>(thread, pointer)) return;
    }
    record_free(thread, call, pointer);
}

} // namespace

bool note_free(reap_call call, void *pointer) noexcept {
    if (is_bootstrap(pointer)) return false;
    ThreadState &thread = thread_state;
    const Permit permit(thread);
    if (permit.granted() && image.full()) {
        record_free(thread, call, pointer);
    } else {
        permit.granted() ? note_free_in_triage(thread, call, pointer) : count_free(thread, call);
        // Sized and aligned deletes are rare, so the end of a sample has no duration.
        if (thread.phase == Phase::Recording && !thread.busy && image.watched.remove(pointer)) {
            const uint64_t now = image.now();
            record_sample_end(thread, pointer, now, now);
        }
    }
    return true;
}

namespace {

// Of a thread that records in triage, and writes every event.
[[gnu::noinline]] void free_exactly(ThreadState &thread, void *pointer) noexcept {
    note_free_in_triage(thread, REAP_CALL_FREE, pointer);
    if (likely(!may_be_watched(pointer)) || !image.watched.remove(pointer)) return real.free(pointer);
    const uint64_t before = image.now();
    real.free(pointer);
    record_sample_end(thread, pointer, before, image.now());
}

[[gnu::noinline]] void free_rarely(void *pointer) noexcept {
    if (pointer == nullptr || is_bootstrap(pointer)) return;
    ThreadState &thread = thread_state;
    if (records_both(thread)) return free_exactly(thread, pointer);
    if (is_nested(thread)) return real.free(pointer);
    {
        const Permit permit(thread);
        if (permit.granted() && image.full()) {
            record_free(thread, REAP_CALL_FREE, pointer);
        } else {
            permit.granted() ? note_free_in_triage(thread, REAP_CALL_FREE, pointer)
                             : count_free(thread, REAP_CALL_FREE);
            if (permit.granted() && image.watched.remove(pointer)) {
                const uint64_t before = image.now();
                real.free(pointer);
                return record_sample_end(thread, pointer, before, image.now());
            }
        }
    }
    real.free(pointer); // it may wait for a lock: with nothing borrowed
}

// Of a thread that records all, what takes a stamp or is none for a packed record.
[[gnu::noinline]] void record_and_free(void *pointer) noexcept {
    ThreadState &thread = thread_state;
    bool timed = false;
    {
        const Busy busy(thread);
        if (!needs_no_stamp(thread, pointer)) timed = put_packed_free<true>(thread, pointer);
    }
    if (!timed) record_free(thread, REAP_CALL_FREE, pointer);
    real.free(pointer);
}

} // namespace

void free_slow(void *pointer) noexcept {
    ThreadState &thread = thread_state;
    if (likely(pointer != nullptr && !is_bootstrap(pointer) && records_all(thread))) {
        bool quick;
        {
            const Busy busy(thread);
            quick = known_to_need_no_stamp(thread, pointer) && put_packed_free<false>(thread, pointer);
        }
        return likely(quick) ? real.free(pointer) : record_and_free(pointer);
    }
    free_rarely(pointer);
}

namespace {

// Whether a reallocation that returned `moved` freed its block: to 0 bytes the C library frees.
bool has_freed(const void *moved, size_t size) noexcept { return moved == nullptr && size == 0; }

void count_reallocation(ThreadState &thread, reap_call call, const void *moved, size_t size) noexcept {
    if (has_freed(moved, size)) {
        on_counts(thread, [call](reap_counts &counts) {
            ++counts.calls[call];
            ++counts.frees;
            ++counts.final_reallocs;
        });
        return;
    }
    count_allocation(thread, call, size, moved != nullptr);
    on_counts(thread,
              [moved](reap_counts &counts) { ++(moved != nullptr ? counts.frees : counts.fresh_reallocs); });
}

// The record follows later: what a signal handler does until then needs a stamp of its own.
uint64_t stamp_ahead(ThreadState &thread, const void *address, size_t size = 0) noexcept {
    if (address == nullptr) return image.now();
    const Busy busy(thread);
    thread.events.need_stamp();
    return image.stamp_at(thread, address, size);
}

// Records the call whole.
template <class Invoke>
void *realloc_in_full_depth(ThreadState &thread, reap_call call, void *pointer, size_t size,
                            const void *frame, Invoke invoke) noexcept {
    const uint64_t before = stamp_ahead(thread, pointer);
    void *moved = invoke(pointer, size);
    const uint64_t after = stamp_ahead(thread, moved, size);
    if (moved != nullptr) {
        count_block(thread, size, true);
        record_reallocation(thread, call, pointer, moved, size, before, after, frame);
    } else if (has_freed(moved, size)) {
        thread.note_failure(size);
        record_free(thread, call, pointer, before);
    } else {
        record_allocation(thread, call, size, 0, nullptr);
    }
    return moved;
}

// The event of a call in triage that writes every event. The call has been counted.
void write_reallocation(ThreadState &thread, reap_call call, const void *pointer, const void *moved,
                        size_t size, uint64_t before, uint64_t after, const void *frame) noexcept {
    const Busy busy(thread);
    if (!image.goes_on_exactly(thread)) return;
    ++thread.walked;
    if (moved != nullptr) {
        record_reallocation(thread, call, pointer, moved, size, before, after, frame);
    } else if (has_freed(moved, size)) {
        record_free(thread, call, pointer, before);
    } else {
        write_allocation(thread, call, size, 0, nullptr, image.intern_stack(thread, frame), true);
    }
}

// Counts the call, ends the sample that its block may be, and begins one if it is drawn.
template <class Invoke>
void *realloc_in_triage(ThreadState &thread, reap_call call, void *pointer, size_t size, const void *frame,
                        Invoke invoke) noexcept {
    const bool watched = may_be_watched(pointer) && image.watched.remove(pointer);
    const bool sampled = thread.budget < 0;
    const bool timed = watched || sampled;
    const bool exactly = thread.writes == Writes::Both;
    const uint64_t freed = exactly ? stamp_ahead(thread, pointer) : 0;
    const uint64_t before = timed ? image.now() : 0;
    void *moved = invoke(pointer, size);
    const uint64_t after = timed ? image.now() : 0;
    const uint64_t allocated = exactly ? stamp_ahead(thread, moved, size) : 0;
    if (has_freed(moved, size)) thread.note_failure(size);
    count_reallocation(thread, call, moved, size);
    if (exactly) write_reallocation(thread, call, pointer, moved, size, freed, allocated, frame);
    if (watched) {
        if (moved != nullptr || has_freed(moved, size)) {
            record_sample_end(thread, pointer, before, after);
        } else {
            image.watched.add(pointer); // the call failed: the block is still allocated
        }
    }
    if (sampled) record_sample(thread, call, size, moved, before, after, frame);
    return moved;
}

// Inlined into what an entry point calls: the frame is that function's.
template <class Invoke>
[[gnu::always_inline]] inline void *reallocate(reap_call call, void *pointer, size_t size, Invoke invoke) {
    if (is_nested(thread_state)) return invoke(pointer, size);
    if (pointer == nullptr) {
        const Permit permit(thread_state);
        on_counts(thread_state, [](reap_counts &counts) { ++counts.fresh_reallocs; });
        return allocate_slow(call, size, 0, [invoke, size] { return invoke(nullptr, size); });
    }
    ThreadState &thread = thread_state;
    refund_impossible(thread, size);
    const Permit permit(thread);
    const void *frame = __builtin_frame_address(0);
    if (permit.granted() && image.full())
        return realloc_in_full_depth(thread, call, pointer, size, frame, invoke);
    if (permit.granted()) return realloc_in_triage(thread, call, pointer, size, frame, invoke);
    void *moved = invoke(pointer, size);
    if (has_freed(moved, size)) thread.note_failure(size);
    count_reallocation(thread, call, moved, size);
    return moved;
}

} // namespace

void *realloc_slow(reap_call call, void *pointer, size_t size) {
    return reallocate(call, pointer, size, [](void *block, size_t bytes) {
        return block == nullptr ? real.malloc(bytes) : call_realloc(block, bytes);
    });
}

void *realloc_by(void *(*function)(void *context), void *context, reap_call call, void *pointer,
                 size_t size) {
    return reallocate(call, pointer, size, [function, context](void *, size_t) { return function(context); });
}

} // namespace reap::preload
