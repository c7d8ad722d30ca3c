#pragma once

// Objects with destructors. Part of layer/reap.h.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/guard.h"
#include "reap/core/misuse.h"
#include "reap/core/running.h"
#include "reap/core/typed.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <class T, class... Arguments>
inline T *Reap<Upstream, Granule, Window, S>::create(Arguments &&...arguments) {
    using Node = NodeOf<T>;
    void *const data = annotate::quietly([this] { return allocate(sizeof(Node), alignof(Node)); });
    Unfinished<Node> memory{*this, handed_out(data, sizeof(T))};
    auto *const node = ::new (memory.data) Node;
    T *const object = detail::construct<T>(*this, node->storage, std::forward<Arguments>(arguments)...);
    memory.data = nullptr;
    if constexpr (!std::is_trivially_destructible_v<T>) {
        node->cleanup.run = [](Cleanup *self) { Node::object_of(self)->~T(); };
        link(&node->cleanup, data);
    }
    return object;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <class T>
inline void Reap<Upstream, Granule, Window, S>::destroy(T *object) noexcept {
    if (object == nullptr) return;
    if constexpr (checked) {
        if (!check_live(object, guard::any_size)) return;
    }
    if constexpr (hardened) {
        if (!is_live(object)) return;
    }
    if constexpr (!std::is_trivially_destructible_v<T>) {
        auto *const node = reinterpret_cast<NodeOf<T> *>(object); // which begins with the object
        if (!is_linked(&node->cleanup)) return;
        unlink(*rare_, &node->cleanup);
        if (detail::Running::run(&node->cleanup) != detail::Ran::usual) return;
    }
    deallocate(object, sizeof(NodeOf<T>), alignof(NodeOf<T>));
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <class T>
inline void Reap<Upstream, Granule, Window, S>::destroy_array(T *first, std::size_t count) noexcept {
    using Array = ArrayBlock<T>;
    if (first == nullptr) return;
    const std::size_t size = Array::size(count);
    if constexpr (checked) {
        if (!check_live(first, size + (size == 0))) return;
    }
    if constexpr (hardened) {
        if (!is_live(first)) return;
    }
    if constexpr (Array::has_record) {
        auto *const record =
            std::launder(static_cast<typename Array::Record *>(Array::place_of_record(first, count)));
        if (!is_linked(record)) return;
        unlink(*rare_, record);
        if (detail::Running::run(record) != detail::Ran::usual) return;
    }
    deallocate(first, size, Array::alignment);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::link(Cleanup *cleanup, const void *block) noexcept {
    cleanup->older = known().cleanups;
    cleanup->newer = nullptr;
    OfBlock::set(*cleanup, block);
    CodeSeal::set(*cleanup);
    set_newer(cleanup->older, cleanup);
    rare().cleanups = cleanup;
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline void Reap<Upstream, Granule, Window, S>::set_newer(Cleanup *cleanup, Cleanup *newer) noexcept {
    if (cleanup == nullptr || !CodeSeal::holds(*cleanup)) return; // stays as it is, to be found
    cleanup->newer = newer;
    CodeSeal::set(*cleanup);
}

/// Whether a cleanup is as create() made it, in a block that was not freed since. If not, all cleanups
/// are abandoned: destructors do not run.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::is_linked(const Cleanup *cleanup) noexcept {
    if constexpr (checked || hardened) {
        if (!CodeSeal::holds(*cleanup)) return give_up_cleanups(Misuse::corruption, cleanup);
    }
    if constexpr (hardened) {
        const void *const block = OfBlock::get(*cleanup);
        const bool has_byte = is_marked() && Shadow::offset_of(block) != 0;
        if (has_byte && Shadow::is_free_block(block))
            return give_up_cleanups(Misuse::skipped_destructor, block);
    }
    return true;
}

/// Runs the youngest destructor. Returns false if all was freed meanwhile: then nothing is left to do. In
/// place and inline: a destructor may use this reap, and destroy what the mark records as the newest that
/// stays.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
inline bool Reap<Upstream, Granule, Window, S>::run_cleanup() noexcept {
    Cleanup *const cleanup = known().cleanups;
    if (!is_linked(cleanup)) return true; // they are given up
    unlink(*rare_, cleanup);
    return detail::Running::run(cleanup) != detail::Ran::gone;
}

} // namespace reap::inline REAP_MODE
