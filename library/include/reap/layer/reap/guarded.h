#pragma once

// Checked mode: the same operations on objects that have guards around them. Part of layer/reap.h.

#include <algorithm>
#include <cstddef>

#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// Whether a list begins with what it should. If not, the rest of it is given up.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_sound(Block *&list, std::size_t whole,
                                                  bool marked) const noexcept {
    if (is_free_block(list, whole, marked)) return true;
    report_misuse({Misuse::corruption, list, whole, name});
    list = nullptr;
    return false;
}

/// Looks at the free blocks of a chunk before they are filled anew. Their links are forgotten by then.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::open_free(const Chunk *chunk) noexcept {
    const bool good = walk(chunk, [](std::byte *block, std::size_t size, bool free) {
        if (free) guard::open(block, size, name);
        return true;
    });
    if (!good) report_misuse({Misuse::corruption, chunk, chunk->size, name});
    if (chunk_of(current_, chunk) == chunk && current_ != end_)
        guard::open(current_, distance(current_, end_), name);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
template <Failure F>
void *Reap<Upstream, Granule, Window, S>::guarded(std::size_t size, std::size_t alignment) {
    if (!is_alignment(alignment) || !is_possible(size, alignment, guard::extra(alignment))) return fail<F>();
    size += size == 0;
    alignment = std::max(alignment, std::size_t{16});
    const std::size_t whole = guard::padded(size, alignment);
    void *const raw = take<F>(whole, alignment);
    if (raw == nullptr) return nullptr;
    guard::open(raw, whole, name);
    return ledger_.admit(raw, size, alignment);
}

/// Whether that is a live object of this reap; what it is instead is reported.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check_live(const void *object, std::size_t size) const noexcept {
    const bool held = owns(object) || chunk_of(object, spare_) != nullptr;
    if (held && !Ledger::is_live(object)) {
        if (const void *const holder = ledger_.holder_of(object); holder != nullptr) {
            report_misuse({Misuse::interior_free, holder, guard::size_of(holder), name});
            return false;
        }
    }
    if (!ledger_.check(object, size, held, name)) return false;
    if (is_in_shadow(object)) return true;
    report_misuse({Misuse::corruption, object, guard::size_of(object), name});
    return false;
}

/// Whether the shadow, or the header of a large object, says of a live object what it has to.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_in_shadow(const void *object) const noexcept {
    void *const raw = guard::raw_of(const_cast<void *>(object));
    const std::size_t whole = guarded_block(object);
    if (large_of(raw) != nullptr) return header_of(raw)->size == whole;
    if constexpr (told) return !is_marked() || *Shadow::byte_of(raw) == 0;
    return !Shadow::is_free_block(raw) && Shadow::size_of(raw) == whole;
}

/// How large the block is that an object and its guards take.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::size_t Reap<Upstream, Granule, Window, S>::guarded_block(const void *object) noexcept {
    const void *const raw = guard::raw_of(const_cast<void *>(object));
    return Shadow::block_for(distance(raw, object) + guard::size_of(object) + guard::back_zone);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::guarded_deallocate(void *object, std::size_t size) noexcept {
    if (object == nullptr || !check_live(object, size)) return;
    // A mark comes back to what was the last object when it was taken: now to the one before.
    for (MarkRecord *record = known().marks; record != nullptr; record = record->older)
        if (record->newest == object) record->newest = Ledger::older_than(object);
    const std::size_t whole = guarded_block(object);
    ledger_.discharge(object, size, true, name);
    void *const raw = guard::raw_of(object);
    guard::close(raw, whole, guard::Fill::freed);
    free_anyhow(raw, whole, large_of(raw) != nullptr ? largest_alignment : unit);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::guarded_resize(const void *object, std::size_t size) noexcept {
    return size + (size == 0) == guard::size_of(object);
}

} // namespace reap::inline REAP_MODE
