#include "sampler.h"

#include <cstdlib>
#include <pthread.h>

namespace reap::drag {
namespace {

// Bounds of the bytes after which a thread reports its allocations: a minimum, because reporting takes a
// lock, and a maximum, so that the common clock stays accurate.
constexpr double kMinQuantum = 4096;
constexpr double kMaxQuantum = 65536;
constexpr uint64_t kCertain = 2; // an object larger than a stratum over this is always sampled

pthread_key_t thread_end_key;
bool has_key = false;

} // namespace

Sampler sampler;
constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

class Sampler::Inside {
  public:
    // A thread that is already inside holds the lock, or is forking and runs other fork handlers.
    explicit Inside(preload::FutexLock &lock) noexcept : lock_(thread_state.inside ? nullptr : &lock) {
        if (lock_ == nullptr) return;
        thread_state.inside = true; // first: a signal handler that forks must not wait for its own thread
        lock_->lock();
    }
    ~Inside() {
        if (lock_ == nullptr) return;
        lock_->unlock();
        thread_state.inside = false;
    }
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;

  private:
    preload::FutexLock *lock_;
};

void Sampler::start() noexcept {
    const Inside guard(lock_);
    if (state_ == State::Fresh) begin();
}

void Sampler::follow_threads() noexcept {
    constexpr pthread_key_t kWithoutMalloc = 32; // glibc allocates for the values of those above
    const int failed = pthread_key_create(
        &thread_end_key, [](void *thread) { sampler.leave(*static_cast<ThreadState *>(thread)); });
    has_key = failed == 0 && thread_end_key < kWithoutMalloc;
}

void Sampler::begin() noexcept {
    state_ = open() ? State::Running : State::Off;
    if (state_ == State::Off) return;
    const char *asked = getenv(REAP_DRAG_PERIOD_ENV);
    pace_.begin(asked != nullptr ? strtoull(asked, nullptr, 10) : 0);
    random_ = preload::Random(Pace::now_ns() ^ ledger_.header().pid * UINT64_C(0x9e3779b97f4a7c15));
    rounds_.begin(static_cast<double>(random_.next() >> 11) * 0x1p-53);
}

bool Sampler::open() noexcept {
    const char *prefix = getenv(REAP_DRAG_SAMPLES_ENV);
    if (prefix == nullptr || !ledger_.open(prefix)) return false;
    clock_ = 0;
    in_use_ = 0;
    origin_ = {};
    if (objects_ != nullptr) return true; // the child of a fork has them
    objects_ = static_cast<Object *>(preload::map_private(Windows::kMaxSlots * sizeof *objects_));
    if (objects_ == nullptr || !windows_.reserve()) {
        stop(REAP_DRAG_SAMPLES_NO_MEMORY);
        return false;
    }
    return true;
}

// Existing samples stay, but are no longer checked.
void Sampler::stop(reap_drag_problem problem) noexcept {
    state_ = State::Off;
    if (ledger_.is_open()) ledger_.header().problem = problem;
}

// The bytes that an object allocated now represents; 0 if it is not sampled.
uint64_t Sampler::weight_of(ThreadState &thread, size_t size) noexcept {
    // An object that is large compared to a stratum is always sampled, and not part of any stratum: a single
    // one could dominate the sum, and the error estimate would not show it.
    const bool certain = size > thread.strata.length() / kCertain;
    if (certain) thread.passed -= size < thread.passed ? size : thread.passed;
    const uint64_t stands = advance_strata(thread);
    return certain ? size : stands;
}

uint64_t Sampler::advance_strata(ThreadState &thread) noexcept {
    const uint64_t bytes = thread.passed;
    thread.passed = 0;
    return thread.strata.pass(bytes, thread.random, [this] {
        const uint64_t period = pace_.period(clock_, ledger_.header().rows);
        min_in_use_ = static_cast<double>(period);
        return period;
    });
}

void *Sampler::allocate(ThreadState &thread, size_t size, size_t alignment) noexcept {
    thread.granted += static_cast<int64_t>(size) - thread.budget;
    thread.budget = 0;
    if (thread.inside) return nullptr; // between copying for a fork and the fork itself
    const preload::ErrnoGuard keep;
    const Inside guard(lock_);
    if (state_ == State::Fresh) begin();
    if (state_ == State::Off) {
        thread.budget = thread.granted = INT64_MAX;
        return nullptr;
    }
    if (!thread.begun) {
        thread.begun = true;
        thread.random = preload::Random(random_.next());
        advance_strata(thread);
        if (has_key) pthread_setspecific(thread_end_key, &thread);
    }
    catch_up(thread);
    void *block = nullptr;
    if (const uint64_t stands = weight_of(thread, size); stands != 0) {
        const Pace::Work work(pace_);
        block = sample(thread, size, alignment, stands);
    }
    double quantum = rounds_.ahead(interval());
    if (quantum < kMinQuantum) quantum = kMinQuantum;
    if (quantum > kMaxQuantum) quantum = kMaxQuantum;
    // So that objects that are always sampled get here.
    const uint64_t certain_from = thread.strata.length() / kCertain;
    if (quantum > static_cast<double>(certain_from)) quantum = static_cast<double>(certain_from);
    thread.budget = static_cast<int64_t>(quantum);
    if (thread.strata.room() < thread.budget) thread.budget = thread.strata.room();
    thread.granted = thread.budget;
    return block;
}

void *Sampler::sample(ThreadState &thread, size_t size, size_t alignment, uint64_t stands) noexcept {
    // An invalid alignment is left to the allocator to refuse.
    if (state_ != State::Running || alignment > Windows::kSlot || (alignment & (alignment - 1)) != 0)
        return nullptr;
    // Spread over the cache lines of a page: all windows are aligned alike and would map to the same cache
    // sets.
    const size_t offset = alignment <= 64 ? (thread.random.next() & 15) * 64 : 0;
    // Random, because samples and checks both come at regular intervals, which could alias.
    const auto kind = static_cast<uint32_t>(random_.below(Rounds::kClasses));
    const uint32_t slot = windows_.take(offset + size, kind);
    const uint32_t number = slot == Windows::kNone ? Ledger::kNone : ledger_.add();
    if (number == Ledger::kNone) {
        if (slot != Windows::kNone) windows_.release(slot, offset + size);
        ledger_.header().problem = REAP_DRAG_SAMPLES_FULL;
        return nullptr;
    }
    reap_drag_sample &row = ledger_.row(number);
    row = {};
    row.size = size;
    row.stands = stands;
    row.birth = clock_;
    origin_.record(ledger_.header(), row);
    pace_.faults((offset + size) / kPage);
    objects_[slot] = {offset + size, size, static_cast<double>(stands), number, kind, true};
    watch(slot);
    return static_cast<char *>(windows_.address(slot)) + offset;
}

bool Sampler::has(const void *pointer) noexcept {
    const Inside guard(lock_);
    return begins(windows_.slot_of(pointer), pointer);
}

bool Sampler::free(void *pointer) noexcept {
    const preload::ErrnoGuard keep;
    const Inside guard(lock_);
    const uint32_t slot = windows_.slot_of(pointer);
    Object &object = objects_[slot];
    if (!begins(slot, pointer)) return false;
    const Pace::Work work(pace_);
    if (object.row != Ledger::kNone && ledger_.is_open()) {
        if (state_ == State::Running) catch_up(thread_state);
        reap_drag_sample &row = ledger_.row(object.row);
        Pagemap map;
        if (state_ == State::Running && row.unsure > 0) check(map, slot);
        row.death = clock_;
        unwatch(slot);
    }
    windows_.release(slot, object.bytes);
    object.taken = false;
    return true;
}

size_t Sampler::size_of(const void *pointer) noexcept {
    const Inside guard(lock_);
    return objects_[windows_.slot_of(pointer)].size;
}

size_t Sampler::room_below(const void *end) noexcept {
    const Inside guard(lock_);
    // Of a large object's slots only the first is marked as taken.
    uint32_t slot = windows_.slot_of(static_cast<const char *>(end) - 1);
    while (slot > 0 && !objects_[slot].taken) --slot;
    const auto size = static_cast<size_t>(static_cast<const char *>(end) -
                                          static_cast<const char *>(windows_.address(slot)));
    return (size + kPage - 1) & ~(kPage - 1);
}

void Sampler::leave(ThreadState &thread) noexcept {
    const Inside guard(lock_);
    if (state_ != State::Running) return;
    catch_up(thread);
    thread.granted = thread.budget = 0;
}

void Sampler::finish() noexcept {
    const Inside guard(lock_);
    if (state_ != State::Running) return;
    catch_up(thread_state);
    Pagemap map;
    windows_.each_slot([&](uint32_t slot) {
        const Object &object = objects_[slot];
        if (!object.taken || object.row == Ledger::kNone || state_ != State::Running) return;
        reap_drag_sample &row = ledger_.row(object.row);
        if (row.unsure > 0) check(map, slot);
        row.death = clock_;
    });
    if (state_ == State::Running) ledger_.header().ended = 1;
    state_ = State::Off;
}

// The program limits its address space, or locks all of its memory.
void Sampler::retreat() noexcept {
    const preload::ErrnoGuard keep;
    const Inside guard(lock_);
    if (objects_ == nullptr) return;
    if (state_ == State::Running) stop(REAP_DRAG_SAMPLES_NO_MEMORY);
    state_ = State::Off;
    ledger_.forget();
    windows_.shrink();
}

void Sampler::protect(const void *begin, size_t bytes, int protection) noexcept {
    const Inside guard(lock_);
    windows_.protect(begin, bytes, protection);
}

// The windows are shared memory, so the child gets copies. They are made before the fork, since the parent
// continues to write after it.
void Sampler::before_fork() noexcept {
    const preload::ErrnoGuard keep;
    const bool nested = thread_state.inside;
    if (!nested) {
        thread_state.inside = true;
        lock_.lock();
    }
    nested_ = nested;
    if (objects_ == nullptr) return;
    const Pace::Work work(pace_);
    const auto all = [this](auto visit) {
        windows_.each_slot([&](uint32_t slot) {
            if (objects_[slot].taken) visit(slot, objects_[slot].bytes);
        });
    };
    all([this](uint32_t, size_t bytes) {
        pace_.objects(1);
        pace_.faults(bytes / kPage);
    });
    child_copy_ = windows_.copy(all);
    if (child_copy_ == nullptr) packed_ = windows_.pack(all);
}

void Sampler::after_fork_in_parent() noexcept {
    const preload::ErrnoGuard keep;
    if (child_copy_ != nullptr) windows_.drop(child_copy_);
    Windows::drop(packed_);
    child_copy_ = nullptr;
    packed_ = {};
    if (nested_) return;
    lock_.unlock();
    thread_state.inside = false;
}

// The child writes its own samples to a file of its own.
void Sampler::after_fork_in_child() noexcept {
    const preload::ErrnoGuard keep;
    lock_.reset();
    thread_state.inside = false;
    if (state_ == State::Fresh || objects_ == nullptr) return;
    const bool separate = child_copy_ != nullptr && windows_.install(child_copy_);
    if (packed_.begin != nullptr) {
        windows_.each_slot([this, at = size_t{0}](uint32_t slot) mutable {
            if (objects_[slot].taken) at += windows_.unpack(packed_, at, slot, objects_[slot].bytes);
        });
    }
    child_copy_ = nullptr;
    packed_ = {};
    windows_.each_slot([this](uint32_t slot) {
        if (watched(slot)) unwatch(slot);
        objects_[slot].row = Ledger::kNone;
    });
    ledger_.forget();
    thread_state = {};
    if (state_ != State::Running) return;
    begin();
    // New samples would share memory with the parent.
    if (!separate) stop(REAP_DRAG_SAMPLES_NO_MEMORY);
}

} // namespace reap::drag
