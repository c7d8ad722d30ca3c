// Which objects are sampled, when they are checked, and the results of the checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ledger.h"
#include "origin.h"
#include "pace.h"
#include "platform.h"
#include "random.h"
#include "rounds.h"
#include "strata.h"
#include "windows.h"

namespace reap::drag {

// The state of a thread. The fast paths use only the budget.
struct ThreadState {
    int64_t budget = 0; // bytes that it may allocate before it enters the sampler; at least 0
    int64_t granted = 0;
    uint64_t passed = 0; // bytes allocated that its strata have not yet counted
    Strata strata;
    preload::Random random;
    bool begun = false;
    bool inside = false; // it holds the sampler's lock: a signal handler may fork meanwhile
};

// Samples one byte per period of those that a thread allocates, and with it its object; objects larger than
// half a period always. Each sample has a window of its own. Every object is checked once per interval of
// bytes, with a random phase; the sum of the intervals of the checks before its last access is an unbiased
// estimate of last access - birth, wrong by at most an interval. The interval is a third of the bytes in use
// as estimated from the samples: that is the mean lifetime of objects in bytes over three (Little's law), so
// a sample costs three checks on average whatever the program does, and most samples, which are short-lived,
// none.
//
// Thread-safe. Checks happen at allocations and frees, so they can be late by a thread's budget.
class Sampler {
  public:
    // Counts what the thread has allocated, including `size`, which exceeded its budget, makes the checks
    // that are due, and returns a zeroed block in a window if the object is sampled; else null, and the
    // allocator serves it.
    void *allocate(ThreadState &thread, size_t size, size_t alignment) noexcept;

    [[nodiscard]] bool owns(const void *pointer) const noexcept { return windows_.owns(pointer); }
    // For an address that it owns: whether a sample begins there.
    [[nodiscard]] bool has(const void *pointer) noexcept;
    // False if none begins there: already freed, or never allocated.
    bool free(void *pointer) noexcept;
    [[nodiscard]] size_t size_of(const void *pointer) noexcept;

    // Bytes from the start of an object to `end`, in whole pages.
    [[nodiscard]] size_t room_below(const void *end) noexcept;

    void start() noexcept;
    static void follow_threads() noexcept; // registers for the ends of threads
    void finish() noexcept;
    // The thread ends: counts what it has allocated since it was last here.
    void leave(ThreadState &thread) noexcept;
    // The program has protected pages of a sample.
    void protect(const void *begin, size_t bytes, int protection) noexcept;
    // Existing samples stay, and no more are taken; unused addresses are unmapped.
    void retreat() noexcept;
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept;
    void after_fork_in_child() noexcept;

  private:
    // The object in a slot. `bytes` is the used part of the window, including the block's offset.
    struct Object {
        size_t bytes;
        size_t size;
        double stands; // the bytes in use that it represents
        uint32_t row;  // Ledger::kNone: inherited across a fork
        uint32_t kind; // its class
        bool taken;
        uint32_t phase = 0; // selects its turns, if it is not checked in all
        // In the list of objects larger than a slot: slot + 1.
        uint32_t next = 0;
        uint32_t previous = 0;
    };

    enum class State : uint8_t { Fresh, Running, Off };

    // Holds the lock.
    class Inside;

    void begin() noexcept;
    bool open() noexcept;
    void stop(reap_drag_problem problem) noexcept;
    void catch_up(ThreadState &thread) noexcept;
    void check_class(uint32_t kind, Rounds::Turns rounds, double interval) noexcept;
    void check_runs(Rounds::Turns turns, double interval) noexcept;
    void check_chunk(Pagemap &map, uint32_t first, Rounds::Turns rounds, double interval) noexcept;
    bool check(Pagemap &map, uint32_t slot) noexcept;
    void credit(uint32_t slot) noexcept;
    void weigh(uint32_t slot, double weight) noexcept;
    void *sample(ThreadState &thread, size_t size, size_t alignment, uint64_t stands) noexcept;
    void watch(uint32_t slot) noexcept;
    void unwatch(uint32_t slot) noexcept;
    uint64_t weight_of(ThreadState &thread, size_t size) noexcept;
    uint64_t advance_strata(ThreadState &thread) noexcept;
    [[nodiscard]] bool begins(uint32_t slot, const void *pointer) const noexcept {
        const Object &object = objects_[slot];
        const auto *begin = static_cast<const char *>(windows_.address(slot)) + (object.bytes - object.size);
        return object.taken && begin == pointer;
    }
    [[nodiscard]] bool watched(uint32_t slot) const noexcept {
        return objects_[slot].taken && objects_[slot].row != Ledger::kNone;
    }
    // Bytes between two checks of an object.
    [[nodiscard]] double interval() const noexcept {
        return (in_use_ > min_in_use_ ? in_use_ : min_in_use_) / kChecksPerLifetime;
    }

    // On average.
    static constexpr double kChecksPerLifetime = 3;

    State state_ = State::Fresh;
    preload::FutexLock lock_;
    Windows windows_;
    Rounds rounds_;
    Ledger ledger_;
    Origin origin_;
    Pace pace_;
    Object *objects_ = nullptr;
    uint32_t living_[Rounds::kClasses] = {};                  // objects that are watched
    uint32_t watched_[Windows::kRuns / Windows::kChunk] = {}; // a bit for each slot
    uint32_t runs_ = 0; // objects larger than a slot: the first one's slot + 1
    double in_use_ = 0; // bytes, estimated from the live samples
    double min_in_use_ = 1;
    preload::Random random_;
    uint64_t clock_ = 0;
    char *child_copy_ = nullptr; // between the handlers of a fork
    Windows::Packed packed_;     // if there is no memory for windows
    bool nested_ = false;        // the forking thread was already inside
};

extern Sampler sampler;
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

} // namespace reap::drag
