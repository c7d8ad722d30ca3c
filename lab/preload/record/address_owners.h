// Which thread was the last at each stretch of addresses. In a process of several threads it says which
// events need a stamp: the others are in order by those of their threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reap_ticks.h"

namespace reap::preload {

// Readers put an event without a stamp directly behind the record before it in its stream, so at the stamp of
// an earlier moment. That is right where the event before it at the same address is of the same thread, and
// where the one behind it at that address, if it is another thread's, has a later stamp.
//
// So a thread may leave out the stamp in stretches that it owns alone. To own one it marks it, then reads the
// clock for the event, and then looks whether the mark is still its own; else it does so again. What another
// thread left out a stamp for in this stretch saw that thread's mark: so it was before this mark, and the
// stamp that readers put it at before this one. Two threads that mark at the same time do not both find their
// own. That addresses share a mark makes stamps that nobody needs, and nothing else.
class AddressOwners {
  public:
    using Tag = uint16_t;

    // The mark of a thread. What has no number of its own owns nothing.
    static constexpr Tag tag_of(uint32_t thread) noexcept {
        return static_cast<Tag>(thread < kUnnumbered - 1 ? thread + 1 : kUnnumbered);
    }

    // Until then, and where there is no memory for it, no thread owns anything. Makes system calls.
    void start() noexcept;

    // From now on no thread owns anything, for good.
    void stop() noexcept { __atomic_store_n(&marks_, nullptr, __ATOMIC_RELEASE); }

    [[nodiscard]] bool owns(Tag tag, const void *address) const noexcept {
        const Tag *const marks = __atomic_load_n(&marks_, __ATOMIC_ACQUIRE);
        return marks != nullptr && __atomic_load_n(marks + place(address), __ATOMIC_RELAXED) == tag;
    }

    struct Stamp {
        uint64_t ticks;
        bool taken; // the stretch was not the thread's own
    };

    // The stamp of an event at `address`, by `now`, after which the thread owns the stretch. For a free
    // before the block is freed, for an allocation once it has been made.
    template <class Now>
    Stamp stamp(Tag tag, const void *address, Now now) noexcept {
        const uint64_t ticks = now();
        if (__atomic_load_n(&marks_, __ATOMIC_RELAXED) == nullptr) return {ticks, false};
        reap_await_ticks();
        return owns(tag, address) ? Stamp{ticks, false} : take(tag, address, now);
    }

    // Whoever is next at `address` needs a stamp, the owner too.
    void release(const void *address) noexcept {
        if (Tag *const marks = __atomic_load_n(&marks_, __ATOMIC_ACQUIRE))
            __atomic_store_n(marks + place(address), Tag{0}, __ATOMIC_RELAXED);
    }

  private:
    static constexpr Tag kUnnumbered = UINT16_MAX; // never a mark
    // Small, as threads of some allocators share pages. Stretches near each other have marks near each other,
    // that few cache lines and pages have those of a heap.
    static constexpr unsigned kStretchBits = 8;
    static constexpr unsigned kAreaBits = 10;  // stretches of an area: 256 KiB of addresses
    static constexpr unsigned kAreasBits = 12; // of a gigabyte; those of a larger heap share marks
    static constexpr size_t kBytes = sizeof(Tag) << (kAreasBits + kAreaBits);

    static size_t place(const void *address) noexcept {
        const uint64_t stretch = reinterpret_cast<uint64_t>(address) >> kStretchBits;
        const uint64_t hash = (stretch >> kAreaBits) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - kAreasBits);
        return hash << kAreaBits | (stretch & ((UINT64_C(1) << kAreaBits) - 1));
    }

    template <class Now>
    [[gnu::noinline, gnu::cold]] Stamp take(Tag tag, const void *address, Now now) noexcept {
        Tag *const marks = __atomic_load_n(&marks_, __ATOMIC_ACQUIRE);
        if (marks == nullptr) return {now(), false};
        Tag *const mark = marks + place(address);
        const Tag own = tag == kUnnumbered ? Tag{0} : tag;
        uint64_t ticks;
        do {
            __atomic_exchange_n(mark, own, __ATOMIC_SEQ_CST); // all threads see it before the clock is read
            ticks = now();
            reap_await_ticks();
        } while (__atomic_load_n(mark, __ATOMIC_RELAXED) != own);
        return {ticks, true};
    }

    Tag *marks_ = nullptr; // 0: nobody's
};

} // namespace reap::preload
