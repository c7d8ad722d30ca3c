#pragma once

#include <atomic>
#include <cstddef>

#include "reap/core/mode.h"
#include "reap/interpose/process_chunks.h"
#include "reap/layer/thread/return_group.h"
#include "reap/layer/thread/return_stack.h"

namespace reap::inline REAP_MODE::interpose {

/// The record that an object's address leads to.
struct HeapOwner {
    /// What its objects are.
    enum class Part : unsigned char { small, other, scoped };

    explicit HeapOwner(Part kind) noexcept : part(kind) {}

    /// Whether other threads return small objects in groups. Not in the modes that check each object.
    static constexpr bool in_groups = !checked && !hardened;
    using Group = detail::ReturnGroup<>;

    /// What the reap of small objects tries before it looks for room.
    template <class Use>
    void take_returned(Use use) noexcept {
        if constexpr (in_groups)
            returned.take_all([use](void *group) { Group::take(group, use); });
        else
            returned.take_all(use);
    }

    [[no_unique_address]] ProcessChunks chunks;
    const Part part;
    alignas(64) detail::ReturnStack<> returned; // written by other threads: a cache line of its own
    std::atomic<std::size_t> large_returned{0}; // bytes of large objects in there, approximately
};

} // namespace reap::inline REAP_MODE::interpose
