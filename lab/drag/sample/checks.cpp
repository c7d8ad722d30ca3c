// Checks whether sampled objects were accessed.
#include "sampler.h"

namespace reap::drag {
namespace {

// The interval between checks of an object of `bytes`, a power of two in units of `least` rounds. The error
// is proportional to the square of the object's weight times the interval; the cost of a check is
// proportional to the pages that fault again after it. Their sum is minimal where the cube of the interval is
// proportional to cost over squared weight. So objects that were sampled at a high rate are checked rarely
// once the rate is low.
uint32_t check_step(size_t bytes, double period, double stands, double least) noexcept {
    constexpr double kPagesPerCheck = 4; // faults on so many pages cost as much as the check itself
    constexpr uint32_t kMost = 1u << 20;
    const double lighter = period / stands;
    const size_t pages = bytes / kPage;
    const double cube = (1 + static_cast<double>(pages) / kPagesPerCheck) * lighter * lighter;
    uint32_t step = 1;
    while (step < kMost) {
        const double rounds = 2 * least * step;
        if (rounds * rounds * rounds > cube) break;
        step *= 2;
    }
    return step;
}

} // namespace

// Advances the clock by what the thread has allocated, and makes the checks that are due. Must precede any
// change of the interval: a check must be weighted by the interval that applied to its bytes.
void Sampler::catch_up(ThreadState &thread) noexcept {
    // Negative if a signal handler allocated while the thread subtracted its own bytes.
    const int64_t spent = thread.granted > thread.budget ? thread.granted - thread.budget : 0;
    thread.granted = thread.budget;
    const auto bytes = static_cast<uint64_t>(spent);
    thread.passed += bytes;
    clock_ += bytes;
    ledger_.header().clock = clock_;
    const double now = interval();
    const Rounds::Turns turns =
        rounds_.pass(bytes, now, [this, now](uint32_t kind, uint64_t round, uint64_t times) {
            check_class(kind, {round, times}, now);
        });
    if (turns.count != 0 && runs_ != 0) check_runs(turns, now);
    ledger_.header().spent_ns = pace_.spent_ns();
}

void Sampler::check_class(uint32_t kind, Rounds::Turns rounds, double interval) noexcept {
    if (state_ != State::Running || living_[kind] == 0) return;
    const Pace::Work work(pace_);
    pace_.objects(living_[kind]);
    Pagemap map;
    windows_.each_chunk(kind, [&](uint32_t first) { check_chunk(map, first, rounds, interval); });
}

void Sampler::check_runs(Rounds::Turns turns, double interval) noexcept {
    const Pace::Work work(pace_);
    Pagemap map;
    for (uint32_t slot = runs_; slot != 0 && state_ == State::Running; slot = objects_[slot - 1].next) {
        const Object &object = objects_[slot - 1];
        constexpr double kTurn = 1.0 / Rounds::kClasses;
        // A few large objects can cost more than all other samples, which a lower sampling rate would not
        // change.
        const double least = kTurn / (pace_.over() * pace_.over());
        const uint32_t step = check_step(object.bytes, min_in_use_, object.stands, least);
        const uint64_t own = Rounds::own(turns, step, object.phase);
        if (own == 0) continue;
        pace_.objects(object.bytes / kPage);
        if (!check(map, slot - 1)) return;
        weigh(slot - 1, interval * static_cast<double>(own * step) * kTurn);
        windows_.arm(slot - 1, object.bytes);
    }
}

// Reads the objects of a chunk together, and arms them together if all of them are due.
void Sampler::check_chunk(Pagemap &map, uint32_t first, Rounds::Turns rounds, double interval) noexcept {
    if (state_ != State::Running) return;
    uint32_t due = 0;
    double weights[Windows::kChunk];
    for (uint32_t left = watched_[first / Windows::kChunk]; left != 0; left &= left - 1) {
        const auto at = static_cast<uint32_t>(__builtin_ctz(left));
        const Object &object = objects_[first + at];
        const uint32_t step = check_step(0, min_in_use_, object.stands, 1);
        const uint64_t own = Rounds::own(rounds, step, object.phase);
        if (own != 0) due |= uint32_t{1} << at;
        weights[at] = interval * static_cast<double>(own * step);
    }
    if (due == 0) return;
    const auto from = static_cast<uint32_t>(__builtin_ctz(due));
    const auto slots = static_cast<uint32_t>(32 - __builtin_clz(due)) - from;
    constexpr size_t kPages = Windows::kSlot / kPage;
    bool used[Pagemap::kMaxPages];
    if (!map.read(windows_.address(first + from), slots * kPages, used)) {
        return stop(REAP_DRAG_SAMPLES_NO_PAGEMAP);
    }
    const bool all = due == watched_[first / Windows::kChunk];
    for (uint32_t left = due; left != 0; left &= left - 1) {
        const auto at = static_cast<uint32_t>(__builtin_ctz(left));
        uint64_t pages = 0;
        for (size_t page = 0; page < kPages; ++page) pages += used[(at - from) * kPages + page] ? 1 : 0;
        pace_.faults(pages);
        if (pages != 0) credit(first + at);
        weigh(first + at, weights[at]);
        if (!all) windows_.arm(first + at, objects_[first + at].bytes);
    }
    if (all) windows_.arm(first + from, slots * Windows::kSlot);
}

// False if accesses cannot be detected.
bool Sampler::check(Pagemap &map, uint32_t slot) noexcept {
    const Object &object = objects_[slot];
    switch (windows_.check(map, slot, object.bytes)) {
    case Windows::Seen::Unused:
        return true;
    case Windows::Seen::Unknown:
        stop(REAP_DRAG_SAMPLES_NO_PAGEMAP);
        return false;
    case Windows::Seen::Used:
        break;
    }
    pace_.faults(object.bytes / kPage);
    credit(slot);
    return true;
}

// The object was accessed since the last check, so all earlier checks precede its last access.
void Sampler::credit(uint32_t slot) noexcept {
    reap_drag_sample &row = ledger_.row(objects_[slot].row);
    row.used += row.unsure;
    row.used_2 += row.unsure_2;
    row.unsure = row.unsure_2 = 0;
}

void Sampler::weigh(uint32_t slot, double weight) noexcept {
    reap_drag_sample &row = ledger_.row(objects_[slot].row);
    row.unsure += weight;
    row.unsure_2 += weight * weight;
}

void Sampler::watch(uint32_t slot) noexcept {
    Object &object = objects_[slot];
    in_use_ += object.stands;
    object.phase = static_cast<uint32_t>(random_.next() >> 32);
    if (slot < Windows::kRuns) {
        ++living_[object.kind];
        watched_[slot / Windows::kChunk] |= uint32_t{1} << slot % Windows::kChunk;
        return;
    }
    object.next = runs_;
    object.previous = 0;
    if (object.next != 0) objects_[object.next - 1].previous = slot + 1;
    runs_ = slot + 1;
}

void Sampler::unwatch(uint32_t slot) noexcept {
    const Object &object = objects_[slot];
    in_use_ -= object.stands;
    if (slot < Windows::kRuns) {
        --living_[object.kind];
        watched_[slot / Windows::kChunk] &= ~(uint32_t{1} << slot % Windows::kChunk);
        return;
    }
    if (object.next != 0) objects_[object.next - 1].previous = object.previous;
    (object.previous != 0 ? objects_[object.previous - 1].next : runs_) = object.next;
}

} // namespace reap::drag
