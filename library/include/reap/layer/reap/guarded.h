#pragma once

// Checked mode: the same operations on objects that have guards. Part of layer/reap.h.

#include <cstddef>

#include "reap/core/size.h"
#include "reap/layer/reap.h"

namespace reap::inline REAP_MODE {

/// Whether the head of a list is valid. If not, the rest of it is abandoned.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_sound(Block *&list, std::size_t whole,
                                                  bool marked) const noexcept {
    if (is_free_block(list, whole, marked)) return true;
    report_misuse({Misuse::corruption, list, whole, name});
    list = nullptr;
    return false;
}

/// Whether the records that lists link are intact: chunks, large objects, marks. Follows none that is not.
/// Cleanups are checked one by one.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_sealed() const noexcept {
    const auto holds = [](const auto *record) {
        while (record != nullptr && CheckedSeal::holds(*record)) record = record->older;
        return record == nullptr;
    };
    return holds(chunk_) && holds(spare_) && holds(known().large) && holds(known().marks);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::seal_chunks() noexcept {
    if constexpr (checked) {
        for (Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) CheckedSeal::set(*chunk);
        for (Chunk *chunk = spare_; chunk != nullptr; chunk = chunk->older) CheckedSeal::set(*chunk);
    }
}

/// After a record was overwritten no link can be followed: the reap starts afresh, and all that it held is
/// leaked, since it may be in use.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::mend() noexcept {
    if constexpr (checked) {
        if (is_sealed()) return;
        report_corruption();
        static_cast<ReapState &>(*this) = {};
        ledger_.forget();
    }
}

/// Returns false.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::give_up_cleanups(Misuse why, const void *where) noexcept {
    report_misuse({why, where, 0, name});
    rare().cleanups = nullptr;
    for (MarkRecord *record = known().marks; record != nullptr; record = record->older) {
        record->cleanups = nullptr;
        CheckedSeal::set(*record);
    }
    return false;
}

/// Verifies the free blocks of a chunk before they are filled again. Their links are forgotten by then.
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
    mend();
    if (!is_alignment(alignment) || !is_possible(size, alignment, guard::extra(alignment))) return fail<F>();
    size += size == 0;
    alignment = detail::max(alignment, std::size_t{16});
    const std::size_t whole = guard::padded(size, alignment);
    void *const raw = take<F>(whole, alignment);
    if (raw == nullptr) return nullptr;
    guard::open(raw, whole, name);
    return ledger_.admit(raw, size, alignment);
}

/// The beginning of the room for objects that contains an address: of a chunk, or of a large object. Null:
/// not the reap's.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
const std::byte *Reap<Upstream, Granule, Window, S>::piece_of(const void *address) const noexcept {
    for (const Chunk *const list : {chunk_, spare_})
        if (const Chunk *const chunk = chunk_of(address, list); chunk != nullptr) return start_of(chunk);
    const Large *const large = large_of(address);
    return large == nullptr ? nullptr : reinterpret_cast<const std::byte *>(large + 1);
}

/// Whether that is a live object of this reap; otherwise reports what it is.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::check_live(const void *object, std::size_t size) const noexcept {
    const std::byte *const piece = piece_of(object);
    // In front of the first slot for an object there is no guard to check.
    const bool held = piece != nullptr && distance(piece, object) >= guard::lead(unit);
    if (piece != nullptr && !(held && Ledger::is_live(object))) {
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

/// Whether the shadow, or the header of a large object, is as it must be for a live object.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::is_in_shadow(const void *object) const noexcept {
    void *const raw = guard::raw_of(const_cast<void *>(object));
    const std::size_t whole = guarded_block(object);
    if (large_of(raw) != nullptr) return header_of(raw)->size == whole;
    if constexpr (told) return !is_marked() || *Shadow::byte_of(raw) == 0;
    return !Shadow::is_free_block(raw) && Shadow::size_of(raw) == whole;
}

/// The size of the block that an object and its guards take.
template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
std::size_t Reap<Upstream, Granule, Window, S>::guarded_block(const void *object) noexcept {
    const void *const raw = guard::raw_of(const_cast<void *>(object));
    return Shadow::block_for(distance(raw, object) + guard::size_of(object) + guard::back_zone);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
void Reap<Upstream, Granule, Window, S>::guarded_deallocate(void *object, std::size_t size) noexcept {
    if (object == nullptr) return;
    mend();
    if (!check_live(object, size)) return;
    for (const Cleanup *cleanup = known().cleanups; cleanup != nullptr; cleanup = cleanup->older) {
        if (!CodeSeal::holds(*cleanup)) break;
        if (distance(object, cleanup) < guard::size_of(object))
            return report_misuse({Misuse::skipped_destructor, object, guard::size_of(object), name});
    }
    // A mark refers to the last object when it was taken: now to the one before.
    for (MarkRecord *record = known().marks; record != nullptr; record = record->older) {
        if (record->newest != object) continue;
        record->newest = Ledger::older_than(object);
        CheckedSeal::set(*record);
    }
    const std::size_t whole = guarded_block(object);
    ledger_.discharge(object, size, true, name);
    void *const raw = guard::raw_of(object);
    guard::close(raw, whole, guard::Fill::freed);
    free_slow(raw, whole, large_of(raw) != nullptr ? largest_alignment : unit);
}

template <Source Upstream, std::size_t Granule, std::size_t Window, Sizes S>
bool Reap<Upstream, Granule, Window, S>::guarded_resize(const void *object, std::size_t size) const noexcept {
    return check_live(object, guard::any_size) && size + (size == 0) == guard::size_of(object);
}

} // namespace reap::inline REAP_MODE
