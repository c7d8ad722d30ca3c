#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "reap/core/mode.h"
#include "reap/layer/thread/return_stack.h"

namespace reap::inline REAP_MODE::detail {

/// The objects of one owner that lie close together and that other threads freed. The owner has a ReturnStack
/// of groups, in place of one of objects: so what lies together is allocated again together. One stack of all
/// objects mixes them over time, until each is on another page than the next. mimalloc's lists for each page
/// have the same effect (Leijen et al., 2019).
///
/// A group is in the owner's stack, or is about to be, from the push of its first object until it is taken.
/// So a group that has objects can be reached once only, and one whose objects are all free and taken is
/// accessed by nobody any more.
///
/// Atomic is std::atomic, or a test's instrumented version.
template <template <class> class Atomic = std::atomic>
class ReturnGroup {
  public:
    ReturnGroup() = default;
    ReturnGroup(const ReturnGroup &) = delete;
    ReturnGroup &operator=(const ReturnGroup &) = delete;
    ~ReturnGroup() = default;

    /// In any thread but the owner's. `groups` is the owner's, and never closed.
    void push(void *object, ReturnStack<Atomic> &groups) noexcept {
        auto *const link = static_cast<Link *>(object);
        Link *first = first_.load(std::memory_order_relaxed);
        // The first one acquires, too: the owner has read in_stack_ before it took the group, and it is
        // written again now.
        do link->next = first;
        while (
            !first_.compare_exchange_weak(first, link, std::memory_order_acq_rel, std::memory_order_relaxed));
        if (first == nullptr) [[unlikely]]
            push_group(groups);
    }

    /// The owner calls use(object) for each object of a group from its stack. `use` may overwrite it. Returns
    /// their number.
    template <class Use>
    static std::size_t take(void *of_stack, Use use) noexcept {
        auto *const group = reinterpret_cast<ReturnGroup *>(static_cast<Link *>(of_stack));
        std::size_t count = 0;
        for (Link *link = group->first_.exchange(nullptr, std::memory_order_acq_rel); link != nullptr;
             ++count) {
            // Another thread wrote to them last, so each link is a cache miss.
            __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(link) - ahead),
                               1);
            use(static_cast<void *>(std::exchange(link, link->next)));
        }
        return count;
    }

  private:
    [[gnu::noinline]] void push_group(ReturnStack<Atomic> &groups) noexcept {
        [[maybe_unused]] const bool pushed = groups.push(&in_stack_); // never closed
    }
    static constexpr std::uintptr_t ahead = 384;

    struct Link {
        Link *next = nullptr;
    };

    Link in_stack_; // first: a group is found by it
    Atomic<Link *> first_{nullptr};
};

} // namespace reap::inline REAP_MODE::detail
