#include "sampler.h"

#include <cstdlib>
#include <ctime>

#include "poisson.h"

namespace reap::drag {
namespace {

constexpr uint64_t kEarliest = 4096;
constexpr double kNarrowest = 4096;
constexpr double kWidest = 0x1p40;
// Bytes after which every thread says what it has allocated, so that the clock of all is never far off.
constexpr int64_t kQuantum = 4096;
// Of the time: more at first, since a short run is to have samples too.
constexpr double kShareAtFirst = 0.064;
constexpr double kShare = 0.016;
constexpr uint64_t kFirstNs = 2'000'000'000;
constexpr double kGuessedCostNs = 80'000; // of a sample, which ten of them are taken to have had already
constexpr uint64_t kGuesses = 10;
constexpr uint64_t kStartNs = 1'000'000; // so that the first microseconds do not decide the gap

uint64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// (0, 1]
double uniform(preload::Random &random) noexcept {
    return (static_cast<double>(random.next() >> 11) + 1.0) * 0x1p-53;
}

} // namespace

Sampler sampler;
constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

void Sampler::start() noexcept {
    const preload::LockGuard guard(lock_);
    if (state_ == State::Fresh) begin();
}

void Sampler::begin() noexcept {
    state_ = open() ? State::Running : State::Off;
    if (state_ == State::Off) return;
    const char *asked = getenv(REAP_DRAG_PERIOD_ENV);
    fixed_period_ = asked != nullptr ? strtoull(asked, nullptr, 10) : 0;
    began_ns_ = now_ns();
    spent_ns_ = 0;
    random_ = preload::Random(began_ns_ ^ ledger_.header().pid * UINT64_C(0x9e3779b97f4a7c15));
}

bool Sampler::open() noexcept {
    const char *prefix = getenv(REAP_DRAG_SAMPLES_ENV);
    if (prefix == nullptr || !ledger_.open(prefix)) return false;
    ledger_.header().earliest = kEarliest;
    clock_ = 0;
    if (objects_ != nullptr) return true; // the child of a fork has them
    objects_ = static_cast<Object *>(preload::map_private(Windows::kMostSlots * sizeof *objects_));
    if (objects_ == nullptr || !schedule_.reserve() || !windows_.reserve()) {
        give_up(REAP_DRAG_NO_MEMORY);
        return false;
    }
    return true;
}

// What is there stays as it is, and is looked at no more.
void Sampler::give_up(reap_drag_problem problem) noexcept {
    state_ = State::Off;
    if (ledger_.is_open()) ledger_.header().problem = problem;
}

uint64_t Sampler::period() noexcept {
    if (fixed_period_ != 0) return fixed_period_;
    const uint64_t elapsed = now_ns() - began_ns_ + kStartNs;
    const double cost = (static_cast<double>(spent_ns_) + kGuesses * kGuessedCostNs) /
                        static_cast<double>(ledger_.header().rows + kGuesses);
    const double share = elapsed < kFirstNs ? kShareAtFirst : kShare;
    const double wanted = static_cast<double>(clock_) / static_cast<double>(elapsed) * cost / share;
    if (wanted < kNarrowest) return static_cast<uint64_t>(kNarrowest);
    return static_cast<uint64_t>(wanted < kWidest ? wanted : kWidest);
}

void Sampler::draw(ThreadState &thread) noexcept {
    thread.period = period();
    thread.to_sample = preload::gap(thread.random, thread.period);
}

void *Sampler::allocate(ThreadState &thread, size_t size, size_t alignment) noexcept {
    const preload::ErrnoGuard keep;
    const preload::LockGuard guard(lock_);
    if (state_ == State::Fresh) begin();
    if (state_ == State::Off) {
        thread.budget = thread.granted = INT64_MAX;
        return nullptr;
    }
    const uint64_t entered = now_ns();
    if (!thread.begun) {
        thread.begun = true;
        thread.random = preload::Random(random_.next());
        draw(thread);
    }
    const int64_t spent = thread.granted - thread.budget;
    clock_ += static_cast<uint64_t>(spent);
    ledger_.header().clock = clock_;
    while (schedule_.next() <= clock_ && state_ == State::Running) {
        const Schedule::Look due = schedule_.take();
        if (objects_[due.slot].taken && objects_[due.slot].turn == due.turn) look(due.slot, clock_);
    }
    thread.to_sample -= spent;
    void *block = nullptr;
    if (thread.to_sample < 0) {
        block = sample(thread, size, alignment, clock_);
        draw(thread);
    }
    const auto ahead = static_cast<int64_t>(schedule_.next() - clock_);
    thread.budget = thread.to_sample < kQuantum ? thread.to_sample : kQuantum;
    if (ahead >= 0 && ahead < thread.budget) thread.budget = ahead;
    thread.granted = thread.budget;
    spent_ns_ += now_ns() - entered;
    if (ledger_.is_open()) ledger_.header().spent_ns = spent_ns_;
    return block;
}

void *Sampler::sample(ThreadState &thread, size_t size, size_t alignment, uint64_t now) noexcept {
    // An alignment that is none is the allocator's to refuse.
    if (state_ != State::Running || alignment > Windows::kSlot || (alignment & (alignment - 1)) != 0)
        return nullptr;
    // Spread over the lines of a page: all windows begin alike, and a cache's sets would meet.
    const size_t offset = alignment <= 64 ? (thread.random.next() & 15) * 64 : 0;
    const uint32_t slot = windows_.take(offset + size);
    const uint32_t number = slot == Windows::kNone ? Ledger::kNone : ledger_.add();
    if (number == Ledger::kNone) {
        if (slot != Windows::kNone) windows_.give(slot, offset + size);
        ledger_.header().problem = REAP_DRAG_FULL;
        return nullptr;
    }
    Object &object = objects_[slot];
    object = {offset + size, size, number, object.turn + 1, true};
    reap_drag_sample &row = ledger_.row(number);
    row = {};
    row.size = size;
    row.period = thread.period;
    row.birth = now;
    plan(slot, now);
    return static_cast<char *>(windows_.address(slot)) + offset;
}

// The next look at it. With intensity 1 / (earliest + age) the age at the next one is, by inversion,
// (earliest + age) / u - earliest for a uniform u.
bool Sampler::plan(uint32_t slot, uint64_t now) noexcept {
    const Object &object = objects_[slot];
    const uint64_t birth = ledger_.row(object.row).birth;
    const double age =
        static_cast<double>(now - birth + kEarliest) / uniform(random_) - static_cast<double>(kEarliest);
    constexpr double kNever = 0x1p62;
    if (age > kNever) return true;
    return schedule_.plan({birth + static_cast<uint64_t>(age) + 1, slot, object.turn});
}

// It has been used since the last look: all looks before came before its last access.
void Sampler::credit(uint32_t slot, reap_drag_sample &row) noexcept {
    switch (windows_.look(slot, objects_[slot].bytes)) {
    case Windows::Seen::Unused:
        return;
    case Windows::Seen::Unknown:
        return give_up(REAP_DRAG_NO_PAGEMAP);
    case Windows::Seen::Used:
        break;
    }
    row.used += row.unsure;
    row.used_2 += row.unsure_2;
    row.unsure = row.unsure_2 = 0;
}

void Sampler::look(uint32_t slot, uint64_t now) noexcept {
    const Object &object = objects_[slot];
    if (object.row == Ledger::kNone) return;
    reap_drag_sample &row = ledger_.row(object.row);
    credit(slot, row);
    const auto weight = static_cast<double>(kEarliest + (now - row.birth));
    row.unsure += weight;
    row.unsure_2 += weight * weight;
    windows_.arm(slot, object.bytes);
    if (!plan(slot, now)) give_up(REAP_DRAG_FULL);
}

void Sampler::free(void *pointer) noexcept {
    const preload::ErrnoGuard keep;
    const preload::LockGuard guard(lock_);
    const uint64_t entered = now_ns();
    const uint32_t slot = windows_.slot_of(pointer);
    Object &object = objects_[slot];
    if (!object.taken) return; // freed twice: the allocator's guard is not ours to imitate
    if (object.row != Ledger::kNone && ledger_.is_open()) {
        reap_drag_sample &row = ledger_.row(object.row);
        const ThreadState &thread = thread_state;
        // Its own thread's part of the clock is known, too.
        const int64_t own = state_ == State::Running ? thread.granted - thread.budget : 0;
        if (state_ == State::Running) credit(slot, row);
        row.death = clock_ + static_cast<uint64_t>(own);
    }
    windows_.give(slot, object.bytes);
    object.taken = false;
    spent_ns_ += now_ns() - entered;
}

size_t Sampler::size_of(const void *pointer) noexcept {
    const preload::LockGuard guard(lock_);
    return objects_[windows_.slot_of(pointer)].size;
}

void Sampler::finish() noexcept {
    const preload::LockGuard guard(lock_);
    if (state_ != State::Running) return;
    for (uint32_t slot = 0; slot < Windows::kMostSlots && state_ == State::Running; ++slot) {
        const Object &object = objects_[slot];
        if (!object.taken || object.row == Ledger::kNone) continue;
        reap_drag_sample &row = ledger_.row(object.row);
        credit(slot, row);
        row.death = clock_;
    }
    if (state_ == State::Running) ledger_.header().ended = 1;
    state_ = State::Off;
}

void Sampler::before_fork() noexcept { lock_.lock(); }

void Sampler::after_fork_in_parent() noexcept { lock_.unlock(); }

// The windows are shared with the parent, so the child gets copies; its own samples go to a file of its own.
// (Other threads of the parent may have written since the fork, which a child of a program with threads
// cannot depend on.)
void Sampler::after_fork_in_child() noexcept {
    lock_.reset();
    if (state_ == State::Fresh || objects_ == nullptr) return;
    windows_.separate([this](auto copy) {
        for (uint32_t slot = 0; slot < Windows::kMostSlots; ++slot) {
            if (objects_[slot].taken) copy(slot, objects_[slot].bytes);
            objects_[slot].row = Ledger::kNone;
        }
    });
    schedule_.clear();
    ledger_.forget();
    if (state_ == State::Running) begin();
    thread_state = {};
}

} // namespace reap::drag
