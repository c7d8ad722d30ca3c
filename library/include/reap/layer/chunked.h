#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"

// What layers that carve chunks share: lists of chunks, how chunks grow, and marks. A chunk is any type with
// `older` and `size`, a mark's record any with `older` and `serial`. Lists begin with the newest.

namespace reap::inline REAP_MODE::detail {

/// The largest chunk of a list, as the pointer that points to it. It is used first: the fewer chunk ends, the
/// better.
template <class Chunk>
[[nodiscard]] Chunk **largest_of(Chunk *&list) noexcept {
    Chunk **largest = &list;
    for (Chunk **link = &list; *link != nullptr; link = &(*link)->older)
        if ((*link)->size > (*largest)->size) largest = link;
    return largest;
}

/// Takes a chunk off its list, and returns it; `link` is the pointer that points to it.
template <class Chunk>
[[nodiscard]] Chunk *take_off(Chunk **link) noexcept {
    return std::exchange(*link, (*link)->older);
}

/// Moves the first chunk of one list to the front of another, and returns it.
template <class Chunk>
Chunk *move_first(Chunk *&from, Chunk *&to) noexcept {
    Chunk *const chunk = std::exchange(from, from->older);
    chunk->older = std::exchange(to, chunk);
    return chunk;
}

/// Turns a list of chunks around and puts it in front of another, after use(chunk) for each: so the small
/// ones of a growing sequence come first, in the order in which they will be needed again.
template <class Chunk, class Use>
[[nodiscard]] Chunk *oldest_first(Chunk *chunks, Chunk *others, Use use) noexcept {
    Chunk *row = others;
    while (chunks != nullptr) {
        use(chunks);
        move_first(chunks, row);
    }
    return row;
}

/// The size of the next chunk. The growth continues from the latest chunk, which may be larger than usual for
/// the sake of one object; null: there is none yet.
template <class Options, class Chunk>
[[nodiscard]] std::size_t next_chunk(const Options &options, const Chunk *latest) noexcept {
    std::size_t next = options.first_chunk;
    if (latest != nullptr &&
        (__builtin_mul_overflow(latest->size, options.growth, &next) || next > options.largest_chunk)) {
        next = options.largest_chunk;
    }
    return next;
}

/// How much more may be taken from the source.
template <class Options>
[[nodiscard]] std::size_t below_limit(const Options &options, std::size_t held) noexcept {
    return options.limit - detail::min(options.limit, held);
}

/// No two marks of a process have the same number: a mark of a destroyed layer equals no other's.
inline constinit std::uint64_t marks_taken = 0;
[[nodiscard]] inline std::uint64_t next_mark() noexcept {
    return __atomic_add_fetch(&marks_taken, 1, __ATOMIC_RELAXED);
}

/// A mark of a layer, to rewind to.
template <class Layer, class Record>
class Mark {
    friend Layer;
    Record *record_ = nullptr;
    std::uint64_t serial_ = 0;

    void refer_to(Record *record) noexcept {
        record_ = record;
        serial_ = record->serial;
    }
    /// Its record in a layer's list, or null if the mark is stale, or another layer's. Only records of marks
    /// that are still valid are on the list; no other is read, since its memory may be gone.
    [[nodiscard]] Record *find_in(Record *records) const noexcept {
        while (records != nullptr && records->serial > serial_) records = records->older;
        return records == record_ && records != nullptr && records->serial == serial_ ? records : nullptr;
    }
};

/// Ends the parts of a pool (annotate::Pool) that begin with the marks newer than this one; null: with all.
template <class Pool, class Record>
void end_parts_since(const Record *newest, std::type_identity_t<const Record *> mark) noexcept {
    for (; REAP_MARK_POOLS && newest != mark; newest = newest->older) Pool::end_part(newest);
}

} // namespace reap::inline REAP_MODE::detail
