#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// The memory that a StackLike works in.
struct StackLikeOptions {
    /// Bytes for objects and their headers (8 B each), taken at the start. 197.parser has 30 MB.
    std::size_t size = std::size_t{30} << 20;
    /// Whether another piece of that size is taken when the end is reached. 197.parser has only one.
    bool grows = false;
};

/// What a StackLike holds, in bytes.
struct StackLikeStatistics {
    std::size_t held = 0;   ///< taken from the source
    std::size_t used = 0;   ///< below the pointer: objects, headers, and freed objects with a live one behind
    std::size_t pieces = 0; ///< number of pieces of memory, including one that is kept for reuse
};

/// malloc and free for lifetimes that end nearly in stack order: bump allocation, and a pointer that
/// retreats.
///
/// The memory of a freed object is not reused before all that was allocated after it is freed as well: one
/// long-lived object holds everything below it, and where lifetimes do not nest, memory grows until the end
/// of the piece. Not thread-safe; neither copied nor moved.
///
/// Freeing marks the object; if it is the last one, the pointer retreats over it and all free ones before it.
/// Supports unsized deallocation. Each object takes a header of 8 bytes and is aligned to at least 16. Both
/// operations cost some ten instructions; a retreat is linear in the number of objects that it passes, each
/// at most once. This is the allocator of 197.parser (SPEC CPU2000), as Berger, Zorn and McKinley describe it
/// (OOPSLA 2002); growth and reset() are additions.
template <Source Upstream = CachedPages>
class StackLike {
    struct Header;
    struct Piece;

  public:
    /// Takes the memory, and throws what the source throws, otherwise std::bad_alloc; std::invalid_argument
    /// for an impossible size.
    explicit StackLike(const StackLikeOptions &options = {})
        requires std::default_initializable<Upstream>
        : options_(options) {
        start();
    }
    explicit StackLike(Upstream source, const StackLikeOptions &options = {})
        requires std::copy_constructible<Upstream>
        : source_(source), options_(options) {
        start();
    }
    StackLike(const StackLike &) = delete;
    StackLike &operator=(const StackLike &) = delete;
    ~StackLike() {
        reset();
        leave(spare_);
        leave(piece_);
    }

    /// Memory for an object; throws std::bad_alloc when the end is reached, or what the source throws where
    /// the layer grows. A size of 0 counts as 1.
    [[nodiscard, gnu::returns_nonnull, gnu::alloc_size(2)]] void *allocate(std::size_t size,
                                                                           std::size_t alignment = minimum) {
        if constexpr (checked) return guarded<Failure::throws>(size, alignment);
        return pool_.handed_out(take<Failure::throws>(size, alignment), size);
    }

    /// The same, but returns null on failure.
    [[nodiscard, gnu::alloc_size(2)]] void *try_allocate(std::size_t size,
                                                         std::size_t alignment = minimum) noexcept {
        if constexpr (checked) return guarded<Failure::returns_null>(size, alignment);
        return pool_.handed_out(take<Failure::returns_null>(size, alignment), size);
    }

    /// Frees an object, in any order.
    void deallocate(void *object) noexcept {
        if constexpr (checked) return guarded_deallocate(object, guard::any_size);
        pool_.came_back(object);
        if (object != nullptr) release(header_of(object));
    }
    void deallocate(void *object, std::size_t size, std::size_t /*alignment*/ = minimum) noexcept {
        if constexpr (checked) return guarded_deallocate(object, size + (size == 0));
        pool_.came_back(object);
        if (object != nullptr) release(header_of(object));
    }

    /// Frees all objects. Pieces that the layer grew by are not kept.
    void reset() noexcept;

    /// Whether the address lies in the memory of this layer. Linear in the number of pieces.
    [[nodiscard]] bool owns(const void *address) const noexcept;

    [[nodiscard]] StackLikeStatistics statistics() const noexcept;
    [[nodiscard]] const StackLikeOptions &options() const noexcept { return options_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "StackLike";
    static constexpr std::size_t minimum = alignof(std::max_align_t);

    /// Lies directly in front of each object: the distance to the previous header, in bytes, and in the
    /// lowest bit whether the object is free.
    struct Header {
        std::uint64_t back_and_free;
        [[nodiscard]] bool is_free() const noexcept { return (back_and_free & 1U) != 0; }
        [[nodiscard]] Header *before() noexcept {
            return reinterpret_cast<Header *>(reinterpret_cast<std::byte *>(this) - (back_and_free & ~1ULL));
        }
    };
    struct Piece {
        Piece *older;
        std::size_t size;
        Header *last;       // the state of the layer in this piece,
        std::byte *current; // while newer pieces are in use
        Header bottom;      // never free: the retreat ends there
    };

    // The first header lies 8 bytes before a multiple of 16, and so do all.
    static constexpr std::size_t piece_lead =
        round_up(sizeof(Piece) + sizeof(Header), minimum) - sizeof(Header);

    static std::size_t distance(const void *from, const void *to) noexcept {
        return reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
    }
    static Header *header_of(void *object) noexcept { return static_cast<Header *>(object) - 1; }
    static std::byte *start_of(Piece *piece) noexcept {
        return reinterpret_cast<std::byte *>(piece) + piece_lead;
    }
    static std::byte *end_of(Piece *piece) noexcept {
        return start_of(piece) + ((piece->size - piece_lead) & ~(minimum - 1));
    }

    /// The hot path.
    template <Failure F>
    [[gnu::always_inline]] void *take(std::size_t size,
                                      std::size_t alignment) noexcept(F == Failure::returns_null) {
        void *const object = bump(size, alignment);
        if (object == nullptr) [[unlikely]]
            return refill<F>(size, alignment);
        return object;
    }

    /// All checks come before the sums, so none can wrap. `current_` and `end_` are addresses for headers.
    [[gnu::always_inline]] void *bump(std::size_t size, std::size_t alignment) noexcept {
        if (!is_alignment(alignment)) [[unlikely]]
            return nullptr;
        std::byte *at = current_;
        auto room = static_cast<std::size_t>(end_ - at);
        if (alignment > minimum) {
            const std::size_t padding = padding_at(at + sizeof(Header), alignment);
            if (padding >= room) [[unlikely]]
                return nullptr;
            at += padding;
            room -= padding;
        }
        if (size >= room) [[unlikely]]
            return nullptr;
        const std::size_t whole = round_up(sizeof(Header) + size, minimum);
        if (whole > room) [[unlikely]]
            return nullptr;
        if constexpr (checked) guard::open(at, sizeof(Header), name);
        auto *const header = ::new (at) Header{distance(last_, at)};
        last_ = header;
        current_ = at + whole;
        return header + 1;
    }

    [[gnu::always_inline]] void release(Header *header) noexcept {
        header->back_and_free |= 1U;
        if (header == last_) retreat();
    }
    /// Padding between two objects is freed with the first of them.
    [[gnu::always_inline]] void retreat() noexcept {
        std::byte *current = current_;
        Header *last = last_;
        while (last->is_free()) {
            auto *const at = reinterpret_cast<std::byte *>(last);
            Header *const before = last->before();
            if constexpr (checked) {
                guard::open(at + sizeof(Header), distance(at + sizeof(Header), current), name);
                guard::close(at, distance(at, current), guard::Fill::freed);
            }
            current = at;
            last = before;
        }
        current_ = current;
        last_ = last;
        if (last == &piece_->bottom) {
            current_ = start_of(piece_);
            if (piece_->older != nullptr) [[unlikely]]
                shrink();
        }
    }

    void start();
    template <Failure F>
    [[gnu::noinline]] void *refill(std::size_t size,
                                   std::size_t alignment) noexcept(F == Failure::returns_null);
    template <Failure F>
    Piece *take_piece(std::size_t size) noexcept(F == Failure::returns_null);
    void enter(Piece *piece) noexcept;
    void leave(Piece *piece) noexcept;
    [[gnu::noinline]] void shrink() noexcept;

    template <Failure F>
    void *guarded(std::size_t size, std::size_t alignment) noexcept(F == Failure::returns_null);
    void guarded_deallocate(void *object, std::size_t size) noexcept;

    std::byte *current_ = nullptr;
    std::byte *end_ = nullptr;
    Header *last_ = nullptr; // of the last object that is not free, or the bottom
    Piece *piece_ = nullptr; // the current one; older ones behind it
    Piece *spare_ = nullptr; // one that was retreated from, so that oscillating costs nothing
    std::size_t held_ = 0;
    [[no_unique_address]] HeldCopy<Upstream> source_;
    StackLikeOptions options_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] annotate::Pool<StackLike> pool_{name};
};

StackLike() -> StackLike<>;
StackLike(StackLikeOptions) -> StackLike<>;
template <class S>
StackLike(S &) -> StackLike<Shared<S>>;
template <class S>
StackLike(S &, StackLikeOptions) -> StackLike<Shared<S>>;

// The slow path: pieces of memory.

template <Source Upstream>
void StackLike<Upstream>::start() {
    if (options_.size == 0 || !is_possible(options_.size, minimum, piece_lead))
        throw_invalid("reap::StackLike: the size must be between 1 B and what a program can address");
    enter(take_piece<Failure::throws>(options_.size));
}

template <Source Upstream>
template <Failure F>
void *StackLike<Upstream>::refill(std::size_t size,
                                  std::size_t alignment) noexcept(F == Failure::returns_null) {
    if (!options_.grows || !is_possible(size, alignment, piece_lead + minimum)) return fail<F>();
    const std::size_t need = round_up(sizeof(Header) + size, minimum) + (alignment > minimum ? alignment : 0);
    Piece *piece = std::exchange(spare_, nullptr);
    if (piece != nullptr && distance(start_of(piece), end_of(piece)) < need) {
        leave(piece);
        piece = nullptr;
    }
    if (piece == nullptr) piece = take_piece<F>(detail::max(need, options_.size));
    if (piece == nullptr) return nullptr;
    piece_->last = last_;
    piece_->current = current_;
    piece->older = piece_;
    enter(piece);
    return bump(size, alignment);
}

/// Memory with `size` bytes for headers and objects.
template <Source Upstream>
template <Failure F>
typename StackLike<Upstream>::Piece *
StackLike<Upstream>::take_piece(std::size_t size) noexcept(F == Failure::returns_null) {
    const annotate::Quiet quiet;
    // No more than that, even if the source has it: the user chooses where the end is.
    const std::size_t whole = piece_lead + round_up(size, minimum);
    void *const data = obtain<F>(source_, whole, minimum);
    if (data == nullptr) return nullptr;
    held_ += whole;
    Piece *const piece = ::new (data) Piece{nullptr, whole, nullptr, nullptr, {0}};
    if constexpr (checked)
        guard::close(start_of(piece), distance(start_of(piece), end_of(piece)), guard::Fill::fresh);
    return piece;
}

/// Makes an empty piece the current one.
template <Source Upstream>
void StackLike<Upstream>::enter(Piece *piece) noexcept {
    piece_ = piece;
    last_ = &piece->bottom;
    current_ = start_of(piece);
    end_ = end_of(piece);
}

/// Returns an empty piece to the source.
template <Source Upstream>
void StackLike<Upstream>::leave(Piece *piece) noexcept {
    if (piece == nullptr) return;
    if constexpr (checked) guard::open(start_of(piece), distance(start_of(piece), end_of(piece)), name);
    held_ -= piece->size;
    source_.deallocate(piece, piece->size, minimum);
}

/// The current piece is empty: the retreat continues in the one before.
template <Source Upstream>
void StackLike<Upstream>::shrink() noexcept {
    Piece *const older = piece_->older;
    leave(std::exchange(spare_, piece_));
    piece_ = older;
    last_ = older->last;
    current_ = older->current;
    end_ = end_of(older);
    retreat();
}

template <Source Upstream>
void StackLike<Upstream>::reset() noexcept {
    pool_.emptied();
    ledger_.end_newer_than(nullptr, name);
    for (;;) {
        std::byte *const start = start_of(piece_);
        if constexpr (checked) guard::close(start, distance(start, current_), guard::Fill::reset);
        if (piece_->older == nullptr) break;
        current_ = piece_->older->current;
        leave(std::exchange(piece_, piece_->older));
    }
    leave(std::exchange(spare_, nullptr));
    enter(piece_);
}

template <Source Upstream>
bool StackLike<Upstream>::owns(const void *address) const noexcept {
    for (Piece *piece = piece_; piece != nullptr; piece = piece->older) {
        if (distance(start_of(piece), address) < distance(start_of(piece), end_of(piece))) return true;
    }
    return false;
}

template <Source Upstream>
StackLikeStatistics StackLike<Upstream>::statistics() const noexcept {
    StackLikeStatistics found;
    found.held = held_;
    found.used = distance(start_of(piece_), current_);
    found.pieces = 1 + (spare_ != nullptr);
    for (Piece *piece = piece_->older; piece != nullptr; piece = piece->older) {
        found.used += distance(start_of(piece), end_of(piece));
        ++found.pieces;
    }
    return found;
}

// Checked mode: the same operations on objects that have guards.

template <Source Upstream>
template <Failure F>
void *StackLike<Upstream>::guarded(std::size_t size,
                                   std::size_t alignment) noexcept(F == Failure::returns_null) {
    if (!is_alignment(alignment) || !is_possible(size, alignment, guard::extra(alignment))) return fail<F>();
    size += size == 0;
    alignment = detail::max(alignment, minimum);
    const std::size_t whole = guard::padded(size, alignment);
    void *const raw = take<F>(whole, alignment);
    if (raw == nullptr) return nullptr;
    guard::open(raw, whole, name);
    return ledger_.admit(raw, size, alignment);
}

template <Source Upstream>
void StackLike<Upstream>::guarded_deallocate(void *object, std::size_t size) noexcept {
    if (object == nullptr) return;
    if (!ledger_.discharge(object, size, owns(object), name)) return;
    void *const raw = guard::raw_of(object);
    guard::close(raw, distance(raw, object) + guard::size_of(object) + guard::back_zone, guard::Fill::freed);
    release(header_of(raw));
}

} // namespace reap::inline REAP_MODE
