#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "reap/core/link.h"
#include "reap/core/misuse.h"
#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// The objects of one owner that other threads freed: they push them one by one, and the owner takes them all
/// at once. Lock-free.
///
/// A push is one compare-and-swap; the whole stack is taken by one exchange, so a push cannot suffer from ABA
/// (mistake a new first object for an old one). The push releases and the exchange acquires: accesses to an
/// object before it was freed happen before it is allocated again.
///
/// When the owner ends before its objects, the stack is closed permanently, and bytes are counted instead:
/// the owner adds the live bytes, once, and each free subtracts its own. Either may come first; the count
/// then reaches zero exactly once, and the thread that brings it there is the last that may access anything
/// here.
///
/// In hardened mode its links are encoded, and take_all() stops at an object that was written to, or pushed
/// twice.
///
/// Atomic is std::atomic, or a test's instrumented version.
template <template <class> class Atomic = std::atomic>
class ReturnStack {
    struct Link {
        Link *next;
    };

  public:
    ReturnStack() = default;
    ReturnStack(const ReturnStack &) = delete;
    ReturnStack &operator=(const ReturnStack &) = delete;
    ~ReturnStack() = default;

    /// In any thread but the owner's. Returns false, with the object untouched, if the stack is closed: then
    /// count() it. After true nothing here may be touched: the owner may have ended.
    [[nodiscard]] bool push(void *object) noexcept {
        Link *first = first_.load(std::memory_order_relaxed);
        Link *link = nullptr;
        do {
            if (first == closed()) return false;
            link = links_.make(object, first);
        } while (
            !first_.compare_exchange_weak(first, link, std::memory_order_release, std::memory_order_relaxed));
        return true;
    }

    /// The owner declares where its objects may be, before it has any there.
    void cover(const void *data, std::size_t size) noexcept { links_.cover(data, size); }

    /// Whether the stack is empty at this moment.
    [[nodiscard]] bool is_empty() const noexcept { return first_.load(std::memory_order_relaxed) == nullptr; }

    /// Calls use(object) for each, the most recent first. `use` may overwrite it.
    template <class Use>
    void take_all(Use use) noexcept {
        // Checked first: the owner asks often, and the stack is usually empty.
        if (first_.load(std::memory_order_relaxed) == nullptr) return;
        each(first_.exchange(nullptr, std::memory_order_acquire), use);
    }

    /// Takes all objects, in order to use them later: pop() returns one after another, null at the end.
    [[nodiscard]] void *take_chain() noexcept {
        if (first_.load(std::memory_order_relaxed) == nullptr) return nullptr;
        return first_.exchange(nullptr, std::memory_order_acquire);
    }
    [[nodiscard]] void *pop(void *&chain) const noexcept {
        auto *const link = static_cast<Link *>(chain);
        if (link != nullptr) chain = links_.next(link);
        return link;
    }

    /// The same as take_all(), and closes the stack. Must be followed by leave().
    template <class Use>
    void close(Use use) noexcept {
        each(first_.exchange(closed(), std::memory_order_acquire), use);
    }

    /// The owner leaves this many bytes of objects behind. Returns true if they were all freed meanwhile.
    [[nodiscard]] bool leave(std::size_t bytes) noexcept {
        return remaining_.fetch_add(bytes, std::memory_order_acq_rel) + bytes == 0;
    }
    /// Some are freed. Returns true if they were the last.
    [[nodiscard]] bool count(std::size_t bytes) noexcept {
        return remaining_.fetch_sub(bytes, std::memory_order_acq_rel) == bytes;
    }

  private:
    /// A value that is no object's address.
    [[nodiscard]] Link *closed() noexcept { return reinterpret_cast<Link *>(this); }

    static constexpr std::uintptr_t ahead = 384;

    template <class Use>
    void each(Link *link, Use use) noexcept {
        while (link != nullptr) {
            // Another thread wrote to them last, so each link is a cache miss. But nearby objects were mostly
            // freed as well, in whatever order: this halves the time.
            __builtin_prefetch(
                reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(link) - ahead));
            if constexpr (hardened) {
                const bool is_valid = links_.is_valid(link);
                Link *const next = links_.next(link);
                // An invalid link if it comes again: the object was pushed twice.
                ::new (static_cast<void *>(link)) Link{nullptr};
                use(static_cast<void *>(link)); // detects whether it is free already
                if (!is_valid) report_misuse({Misuse::use_after_free, link, 0, "ReturnStack"});
                link = next;
            } else {
                use(static_cast<void *>(std::exchange(link, link->next)));
            }
        }
    }

    [[no_unique_address]] Links<ReturnStack> links_;
    Atomic<Link *> first_{nullptr};
    Atomic<std::size_t> remaining_{0}; // before leave(): negative, modulo 2^64
};

} // namespace reap::inline REAP_MODE::detail
