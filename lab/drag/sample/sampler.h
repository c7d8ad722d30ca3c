// Which objects are drawn, when they are looked at, and what the looks say.
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

// What a thread keeps. The fast paths read the budget and nothing else.
struct ThreadState {
    int64_t budget = 0; // bytes that it may allocate before it comes to the sampler; never less than 0
    int64_t granted = 0;
    uint64_t passed = 0; // bytes allocated that its strata have not heard of
    Strata strata;
    preload::Random random;
    bool begun = false;
    bool inside = false; // the sampler, whose lock it has: a signal's handler may fork there
};

// Draws one byte in so many of those that a thread allocates, and with it its object; those that are larger
// than half of that always. Each lives in a window of its own. Every object is looked at once in so many
// bytes, from a phase drawn at random; the sum of these intervals over the looks that came before its last
// access is an unbiased estimate of last access - birth, wrong by an interval at most. The interval is a
// third of the bytes in use, as the samples know them: objects live for as many bytes on average (Little's
// law), so that a sample costs three looks whatever the program does, and most samples, which live short,
// none.
//
// Thread-safe. Looks take place at allocations and frees, so that time can pass the planned one by a
// thread's budget.
class Sampler {
  public:
    // Takes off what the thread has allocated, with `size` that its budget had no room for, looks at what is
    // due, and returns a block of a window where these bytes were drawn as a sample, zeroed; else null, and
    // the allocator serves them.
    void *allocate(ThreadState &thread, size_t size, size_t alignment) noexcept;

    [[nodiscard]] bool owns(const void *pointer) const noexcept { return windows_.owns(pointer); }
    // Of addresses that it owns: whether a drawn object begins there.
    [[nodiscard]] bool has(const void *pointer) noexcept;
    // False where none does: it was freed already, or never given out.
    bool free(void *pointer) noexcept;
    [[nodiscard]] size_t size_of(const void *pointer) noexcept;

    // Bytes from the beginning of an object to `end`, in whole pages.
    [[nodiscard]] size_t room_below(const void *end) noexcept;

    void start() noexcept;
    static void follow_threads() noexcept; // their ends
    void finish() noexcept;
    // The thread ends: what it has allocated since it last came here counts.
    void leave(ThreadState &thread) noexcept;
    // The program has protected pages of a sample.
    void protect(const void *begin, size_t bytes, int protection) noexcept;
    // What is sampled stays where it is, and no more comes; addresses that were never used are given back.
    void retreat() noexcept;
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept;
    void after_fork_in_child() noexcept;

  private:
    // What stands in a slot, by its number. `bytes` is what the window holds, the block's offset included.
    struct Object {
        size_t bytes;
        size_t size;
        double stands; // for so many bytes in use
        uint32_t row;  // Ledger::kNone: lives on from before a fork
        uint32_t kind; // its class
        bool taken;
        uint32_t phase = 0; // which turns are its own, where not all are
        // In the list of those that are larger than a slot: slot + 1.
        uint32_t next = 0;
        uint32_t previous = 0;
    };

    enum class State : uint8_t { Fresh, Running, Off };

    // Holds the lock.
    class Inside;

    void begin() noexcept;
    bool open() noexcept;
    void give_up(reap_drag_problem problem) noexcept;
    void catch_up(ThreadState &thread) noexcept;
    void look_at_class(uint32_t kind, Rounds::Turns rounds, double interval) noexcept;
    void look_at_runs(Rounds::Turns turns, double interval) noexcept;
    void look_at_chunk(Pagemap &map, uint32_t first, Rounds::Turns rounds, double interval) noexcept;
    bool look_at(Pagemap &map, uint32_t slot) noexcept;
    void credit(uint32_t slot) noexcept;
    void weigh(uint32_t slot, double weight) noexcept;
    void *sample(ThreadState &thread, size_t size, size_t alignment, uint64_t stands) noexcept;
    void watch(uint32_t slot) noexcept;
    void unwatch(uint32_t slot) noexcept;
    uint64_t stands_for(ThreadState &thread, size_t size) noexcept;
    uint64_t pass_on(ThreadState &thread) noexcept;
    [[nodiscard]] bool begins(uint32_t slot, const void *pointer) const noexcept {
        const Object &object = objects_[slot];
        const auto *begin = static_cast<const char *>(windows_.address(slot)) + (object.bytes - object.size);
        return object.taken && begin == pointer;
    }
    [[nodiscard]] bool watched(uint32_t slot) const noexcept {
        return objects_[slot].taken && objects_[slot].row != Ledger::kNone;
    }
    // Bytes between two looks at an object.
    [[nodiscard]] double interval() const noexcept {
        return (in_use_ > least_in_use_ ? in_use_ : least_in_use_) / kLooks;
    }

    // In the time that it lives, on average.
    static constexpr double kLooks = 3;

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
    double in_use_ = 0; // bytes, as the living samples stand for them
    double least_in_use_ = 1;
    preload::Random random_;
    uint64_t clock_ = 0;
    char *childs_ = nullptr; // between the handlers of a fork
    Windows::Packed packed_; // where there is no room for these
    bool nested_ = false;    // that fork: its thread was inside
};

extern Sampler sampler;
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

} // namespace reap::drag
