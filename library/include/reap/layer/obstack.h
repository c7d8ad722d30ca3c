// This file is long because it has the whole interface of the class, its inline hot paths, growing objects
// and checked mode in one template.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/keep.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/layer/chunked.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// How an obstack takes chunks from its source. Sizes in bytes.
struct ObstackOptions {
    /// The first chunk, which is taken at the first allocation.
    std::size_t first_chunk = std::size_t{8} << 10;
    /// Each further chunk is this many times as large as the one before.
    std::size_t growth = 2;
    /// Maximum size of a chunk, unless for the sake of one object; such a chunk is returned to the source as
    /// soon as it is free, all others are kept.
    std::size_t largest_chunk = std::size_t{1} << 20;
    /// Maximum that the obstack may hold of its source.
    std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// What an obstack holds, in bytes.
struct ObstackStatistics {
    std::size_t held = 0;   ///< taken from the source
    std::size_t used = 0;   ///< given to objects, rounding and unusable ends of chunks included
    std::size_t spare = 0;  ///< in free chunks kept for reuse
    std::size_t chunks = 0; ///< number of chunks, spare ones included
};

/// A stack of objects: allocation increments a pointer, and freeing an object frees all that were allocated
/// after it.
///
/// It does not free an object between others, is not thread-safe, and can be neither copied nor moved. It
/// runs the destructors of what create() made, the youngest first; other memory has none. A destructor that
/// runs here may allocate, also objects with destructors, which end in the same call; it must neither free
/// from this obstack nor reset or end it.
///
/// The last object may grow while its size is not known yet: grow() until finish(). Nothing else can be
/// allocated meanwhile.
///
/// Every size is rounded up to Granule, which is also the minimum alignment. allocate() costs what Region's
/// does; free_from() the same where the object lies in the current chunk, otherwise linear in the number of
/// chunks (and destructors) it frees. Obstacks are GNU's (gcc has allocated from them since 1987). Freeing by
/// pointer works the same; impossible sizes are rejected instead of wrapped.
template <Source Upstream = CachedPages, std::size_t Granule = alignof(std::max_align_t)>
class Obstack : public ArrayMembers<Obstack<Upstream, Granule>> {
    static_assert(is_alignment(Granule) && Granule <= 4096);
    friend ArrayMembers<Obstack>;
    struct Chunk;
    struct Cleanup;

  public:
    using TypedMembers<Obstack>::allocate;
    using TypedMembers<Obstack>::try_allocate;
    using TypedMembers<Obstack>::deallocate;

    // Not defaulted: gcc 12 would clear the object by an instruction that takes longer than ten allocations.
    Obstack() noexcept
        requires std::default_initializable<Upstream>
        : Obstack(ObstackOptions{}) {}
    explicit Obstack(const ObstackOptions &options) noexcept
        requires std::default_initializable<Upstream>
        : options_(options), next_chunk_(options.first_chunk) {}
    explicit Obstack(Upstream source, const ObstackOptions &options = {}) noexcept
        requires std::copy_constructible<Upstream>
        : source_(source), options_(options), next_chunk_(options.first_chunk) {}
    Obstack(const Obstack &) = delete;
    Obstack &operator=(const Obstack &) = delete;
    ~Obstack() { reset(keep_none); }

    /// Memory for an object; throws what the source throws, otherwise std::bad_alloc; also while an object
    /// grows. A size of 0 counts as 1.
    // Not declared with gnu::alloc_size: where an object grows, its size is not the initial one.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = Granule) {
        if constexpr (checked) return guarded<Failure::throws>(size, alignment);
        return pool_.handed_out(take<Failure::throws>(size, alignment), size);
    }

    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded<Failure::returns_null>(size, alignment);
        return pool_.handed_out(take<Failure::returns_null>(size, alignment), size);
    }

    /// Frees the object that was allocated last; any other stays until it is freed by free_from() or reset().
    /// So an obstack is a Source.
    void deallocate(void *object, std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded_deallocate(object, size, alignment);
        (void)alignment;
        give_back(object, size);
    }

    /// Makes a T, whose destructor runs when it is freed; a trivial one costs nothing. Throws as allocate()
    /// and as T's constructor; then nothing is leaked. If this obstack converts to T's allocator_type
    /// (StlAllocator), T gets it as its allocator unless the arguments name one.
    template <class T, class... Arguments>
    [[nodiscard]] T *create(Arguments &&...arguments) {
        using Node = detail::NodeOf<T, Cleanup>;
        void *const data = annotate::quietly([this] { return allocate(sizeof(Node), alignof(Node)); });
        Unfinished memory{*this, handed_out(data, sizeof(T)), sizeof(Node), alignof(Node)};
        auto *const node = ::new (memory.data) Node;
        T *const object = detail::construct<T>(*this, node->storage, std::forward<Arguments>(arguments)...);
        memory.data = nullptr;
        if constexpr (!std::is_trivially_destructible_v<T>) {
            node->cleanup.run = [](Cleanup *self) { Node::object_of(self)->~T(); };
            link(&node->cleanup, data);
        }
        return object;
    }

    /// Frees the object and all that was allocated after it, and runs the destructors; a growing object is
    /// dropped. Null is ignored. Returns false, and does nothing, if the address is not in this obstack;
    /// checked mode reports that. (An address inside an object frees from the next Granule on; checked mode
    /// does not accept it.)
    bool free_from(void *object) noexcept {
        if constexpr (!checked) {
            const std::size_t offset = distance(floor_, object);
            if (offset < distance(floor_, current_)) [[likely]] {
                pool_.came_back_from(object);
                current_ = floor_ + round_up(offset, Granule);
                return true;
            }
        }
        return free_from_any(object);
    }

    /// Appends bytes to the growing object, or begins one. It is moved to a larger chunk when necessary:
    /// pointers into it are valid only until the next call. `data` must not lie in it. Throws as allocate();
    /// the object is then unchanged.
    void grow(const void *data, std::size_t size) {
        void *const at = extend<Failure::throws>(size);
        if (size != 0) std::memcpy(at, data, size);
    }
    /// The same, but returns false if memory is exhausted.
    [[nodiscard]] bool try_grow(const void *data, std::size_t size) noexcept {
        void *const at = extend<Failure::returns_null>(size);
        if (at != nullptr && size != 0) std::memcpy(at, data, size);
        return at != nullptr;
    }
    /// The same, for the bytes of a value.
    template <class T>
        requires std::is_trivially_copyable_v<T>
    void push(const T &value) {
        std::memcpy(extend<Failure::throws>(sizeof(T)), &value, sizeof(T));
    }
    /// Appends uninitialized bytes to the growing object, or begins one, and returns the first of them.
    [[gnu::returns_nonnull]] void *blank(std::size_t size) { return extend<Failure::throws>(size); }
    /// The same, but returns null on failure.
    [[nodiscard]] void *try_blank(std::size_t size) noexcept { return extend<Failure::returns_null>(size); }

    /// Ends the growth, and returns the object: one like any other, at its final address. If none grows,
    /// allocates one of size 0.
    [[nodiscard, gnu::returns_nonnull]] void *finish() {
        const std::size_t size = growing();
        if (size == 0) [[unlikely]]
            return allocate(0);
        std::byte *const object = pool_.handed_out(current_ + front, size);
        current_ += round_up(front + size + back, Granule);
        if constexpr (checked) {
            end_growth();
        } else {
            // Where one has grown, the next often does: it has already begun. allocate() ends that.
            top_ = current_;
            end_ = current_;
            floor_ = current_;
        }
        return object;
    }
    /// Ends the growth, and frees the object. If none grows, does nothing.
    void drop() noexcept;

    /// The current address of the growing object; null if it has no bytes yet.
    [[nodiscard]] void *base() const noexcept { return growing() == 0 ? nullptr : current_ + front; }
    /// Its size in bytes.
    [[nodiscard]] std::size_t growing() const noexcept {
        return limit_ == nullptr ? 0 : static_cast<std::size_t>(top_ - (current_ + front));
    }
    /// How many more bytes it can get before it must be moved; 0 if none was begun.
    [[nodiscard]] std::size_t room() const noexcept { return distance(top_, limit_); }

    /// Frees all objects, runs their destructors, and keeps chunks of up to `keep` bytes in total for reuse.
    void reset(std::size_t keep = keep_all) noexcept;

    /// Returns empty chunks to the source until at most `keep` bytes of them are left.
    void trim(std::size_t keep = keep_none) noexcept;

    /// Whether the address lies in a chunk that is in use. Linear in the number of chunks.
    [[nodiscard]] bool owns(const void *address) const noexcept { return find(address, chunk_) != nullptr; }

    [[nodiscard]] ObstackStatistics statistics() const noexcept;
    [[nodiscard]] const ObstackOptions &options() const noexcept { return options_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "Obstack";

    struct Chunk {
        Chunk *older;
        std::size_t size;
        Cleanup *cleanups; // the youngest that is older than what is in here
        bool single;       // for the sake of one object
    };
    struct Cleanup {
        void (*run)(Cleanup *self) = nullptr;
        Cleanup *older = nullptr;
    };
    template <class T>
    using ArrayBlock = detail::ArrayBlock<T, Cleanup>;
    /// Memory for an object whose constructor may still throw.
    using Unfinished = detail::Unowned<Obstack>;
    /// An object, or null, and the new value of the bump pointer.
    struct Bumped {
        void *object;
        std::byte *next;
    };

    static constexpr std::size_t chunk_alignment = detail::max(Granule, alignof(std::max_align_t));
    static constexpr std::size_t chunk_lead = round_up(sizeof(Chunk), chunk_alignment);
    // What lies before and behind a growing object, and its alignment.
    static constexpr std::size_t grown_alignment = checked ? chunk_alignment : Granule;
    static constexpr std::size_t front = checked ? guard::lead(grown_alignment) : 0;
    static constexpr std::size_t back = checked ? guard::back_zone : 0;

    static std::size_t distance(const void *from, const void *to) noexcept {
        return reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
    }
    static std::byte *start_of(Chunk *chunk) noexcept {
        return reinterpret_cast<std::byte *>(chunk) + chunk_lead;
    }
    static std::byte *end_of(Chunk *chunk) noexcept {
        return reinterpret_cast<std::byte *>(chunk) + (chunk->size & ~(Granule - 1));
    }
    static std::size_t room_of(Chunk *chunk) noexcept {
        return static_cast<std::size_t>(end_of(chunk) - start_of(chunk));
    }

    /// The hot path. The slow one returns what `current_` becomes, and does not store it: so the compiler
    /// sees every store, and a loop that allocates keeps the pointer in a register.
    template <Failure F>
    [[gnu::always_inline]] void *take(std::size_t size,
                                      std::size_t alignment) noexcept(F == Failure::returns_null) {
        Bumped got;
        if (!bump(size, alignment, got)) [[unlikely]]
            got = refill<F>(size, alignment);
        current_ = got.next;
        return got.object;
    }

    /// All checks come before the sums, so none can wrap. A size of 0, one that would wrap when rounded, and
    /// any while an object grows fail the same comparison that a full chunk fails. `current_` and `end_` are
    /// multiples of Granule.
    [[gnu::always_inline]] bool bump(std::size_t size, std::size_t alignment, Bumped &got) const noexcept {
        if (!is_alignment(alignment)) [[unlikely]]
            return false;
        std::byte *at = current_;
        std::size_t room = distance(at, end_); // both may be null
        if (alignment > Granule) {
            const std::size_t padding = padding_at(at, alignment);
            if (padding >= room) [[unlikely]]
                return false;
            at += padding;
            room -= padding;
        }
        const std::size_t last_granule = (size - 1) & ~(Granule - 1);
        if (last_granule >= room) [[unlikely]]
            return false;
        got = {at, at + last_granule + Granule};
        return true;
    }

    /// The same for the growing object. Size 0 and the beginning of an object fail the comparison as well.
    template <Failure F>
    [[gnu::always_inline]] void *extend(std::size_t size) noexcept(F == Failure::returns_null) {
        if constexpr (checked) return guarded_extend<F>(size);
        if (size - 1 >= room()) [[unlikely]] {
            const Bumped got = make_room<F>(size);
            top_ = got.next;
            return got.object;
        }
        return std::exchange(top_, top_ + size);
    }

    template <Failure F>
    [[gnu::noinline]] Bumped refill(std::size_t size,
                                    std::size_t alignment) noexcept(F == Failure::returns_null);
    template <Failure F>
    [[gnu::noinline]] Bumped make_room(std::size_t size) noexcept(F == Failure::returns_null);
    template <Failure F>
    [[gnu::noinline]] Bumped make_room_slow(std::size_t size) noexcept(F == Failure::returns_null);
    template <Failure F>
    bool take_chunk(std::size_t need, std::size_t wanted) noexcept(F == Failure::returns_null);
    bool reuse(std::size_t need) noexcept;
    void enter(Chunk *chunk) noexcept;
    void retire(Chunk *chunk, guard::Fill fill) noexcept;
    void leave(Chunk *chunk) noexcept;
    void end_growth() noexcept;
    void give_back(void *object, std::size_t size) noexcept;
    [[gnu::noinline]] bool free_from_any(void *object) noexcept;
    void link(Cleanup *cleanup, const void * /*block*/) noexcept {
        cleanup->older = cleanups_;
        cleanups_ = cleanup;
        floor_ = current_;
    }
    void run_cleanup() noexcept;
    [[nodiscard]] Unfinished unfinished(void *data, std::size_t size, std::size_t alignment,
                                        const void * /*object*/) noexcept {
        return {*this, data, size, alignment};
    }
    template <class Object>
    Object *handed_out(Object *object, std::size_t size) const noexcept {
        return pool_.handed_out(object, size);
    }
    static Chunk *find(const void *address, Chunk *chunk) noexcept;

    template <Failure F>
    void *guarded(std::size_t size, std::size_t alignment) noexcept(F == Failure::returns_null);
    template <Failure F>
    void *guarded_extend(std::size_t size) noexcept(F == Failure::returns_null);
    void guarded_deallocate(void *object, std::size_t size, std::size_t alignment) noexcept;

    // While an object grows, or may at once, it stands at `current_`, `end_` is the same, and so nothing
    // fits.
    // `top_` is stored by itself: where finish() stored it together with a neighbour that becomes the same, a
    // loop that adds bytes would take twice as long.
    std::byte *current_ = nullptr;
    std::byte *end_ = nullptr;
    std::byte *top_ = nullptr;   // of the object that grows: its end,
    std::byte *limit_ = nullptr; // and how far that may go; null where none grows
    std::byte *floor_ = nullptr; // above it, to free is to set `current_`: nothing grows, no destructor runs
    Chunk *chunk_ = nullptr;     // the current one; older ones behind it
    Chunk *spare_ = nullptr;     // chunks kept for reuse
    Cleanup *cleanups_ = nullptr;
    std::size_t held_ = 0;
    [[no_unique_address]] HeldCopy<Upstream> source_;
    ObstackOptions options_;
    std::size_t next_chunk_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] annotate::Pool<Obstack> pool_{name};
};

Obstack() -> Obstack<>;
Obstack(ObstackOptions) -> Obstack<>;
template <class S>
Obstack(S &) -> Obstack<Shared<S>>;
template <class S>
Obstack(S &, ObstackOptions) -> Obstack<Shared<S>>;

// The slow path: when a chunk is full, when an object is freed that is not in the current one, and when
// objects end.

template <Source Upstream, std::size_t Granule>
template <Failure F>
typename Obstack<Upstream, Granule>::Bumped
Obstack<Upstream, Granule>::refill(std::size_t size,
                                   std::size_t alignment) noexcept(F == Failure::returns_null) {
    if (growing() > 0 || !is_possible(size, alignment, chunk_lead)) return {fail<F>(), current_};
    drop();
    Bumped got{nullptr, current_};
    size += size == 0;
    if (bump(size, alignment, got)) return got;
    const std::size_t need = round_up(size, Granule) + (alignment > Granule ? alignment - Granule : 0);
    if (!take_chunk<F>(need, need)) return {nullptr, current_};
    bump(size, alignment, got);
    return got;
}

/// Begins an object, or moves the growing one to where it has room. Twice its size, so that an object that
/// grows byte by byte is copied about once.
template <Source Upstream, std::size_t Granule>
template <Failure F>
typename Obstack<Upstream, Granule>::Bumped
Obstack<Upstream, Granule>::make_room(std::size_t size) noexcept(F == Failure::returns_null) {
    if (!checked && limit_ == nullptr && size - 1 < distance(current_, end_)) [[likely]] {
        // Most objects begin where there is room.
        limit_ = end_;
        end_ = current_;
        floor_ = current_;
        return {current_, current_ + size};
    }
    return make_room_slow<F>(size);
}

template <Source Upstream, std::size_t Granule>
template <Failure F>
typename Obstack<Upstream, Granule>::Bumped
Obstack<Upstream, Granule>::make_room_slow(std::size_t size) noexcept(F == Failure::returns_null) {
    if (size == 0 && limit_ != nullptr) return {top_, top_};
    const std::size_t has = growing();
    if (!is_possible(size, grown_alignment, chunk_lead + front + back + 2 * has)) return {fail<F>(), top_};
    const std::size_t need = round_up(front + has + size + (size == 0) + back, Granule);

    std::byte *const before = current_;
    Chunk *const chunk = chunk_;
    const std::size_t padding = padding_at(current_, grown_alignment);
    if (limit_ == nullptr && padding + need <= static_cast<std::size_t>(end_ - current_)) {
        current_ += padding;
    } else if (!take_chunk<F>(need, need + round_up(has, Granule))) {
        return {nullptr, top_};
    }
    std::byte *const object = current_ + front;
    if constexpr (checked) {
        guard::open(current_, front + has + back, name);
        ledger_.admit(current_, has, grown_alignment);
    }
    if (limit_ != nullptr) {
        std::memcpy(object, before + front, has);
        if constexpr (checked) {
            ledger_.discharge(before + front, has, true, name);
            guard::close(before, front + has + back, guard::Fill::freed);
        }
        if (before == start_of(chunk)) {
            // It was empty otherwise.
            chunk_->older = chunk->older;
            retire(chunk, guard::Fill::freed);
        }
    }
    limit_ = end_ - back;
    end_ = current_;
    floor_ = current_;
    return {object + has, object + has + size};
}

/// Makes a chunk with room for `need` bytes the current one; one for `wanted` bytes, if available.
template <Source Upstream, std::size_t Granule>
template <Failure F>
bool Obstack<Upstream, Granule>::take_chunk(std::size_t need,
                                            std::size_t wanted) noexcept(F == Failure::returns_null) {
    if (reuse(wanted)) return true;
    const annotate::Quiet quiet;
    const std::size_t least = chunk_lead + need;
    const std::size_t allowed = detail::below_limit(options_, held_);
    const std::size_t usual = detail::min(detail::max(chunk_lead + wanted, next_chunk_), allowed);
    Allocation got;
    if (usual > least) got = obtain_at_least<Failure::returns_null>(source_, usual, chunk_alignment);
    if (got.data == nullptr) {
        // A source that cannot supply the usual size may still supply the needed one.
        if (wanted > need && reuse(need)) return true;
        if (least > allowed) return fail<F>() != nullptr;
        got = obtain_at_least<F>(source_, least, chunk_alignment);
        if (got.data == nullptr) return false;
    }
    // A source may return more than requested, and the limit counts all that is held. Memory beyond the limit
    // is not used: at deallocation a source accepts any size between the two.
    got.size = detail::min(got.size, allowed);
    held_ += got.size;
    const std::size_t growth = detail::max(options_.growth, std::size_t{1});
    next_chunk_ =
        next_chunk_ > options_.largest_chunk / growth ? options_.largest_chunk : next_chunk_ * growth;
    Chunk *const chunk = ::new (got.data) Chunk{
        nullptr, got.size, nullptr, chunk_lead + wanted > detail::max(options_.largest_chunk, next_chunk_)};
    if constexpr (checked) guard::close(start_of(chunk), room_of(chunk), guard::Fill::fresh);
    enter(chunk);
    return true;
}

template <Source Upstream, std::size_t Granule>
bool Obstack<Upstream, Granule>::reuse(std::size_t need) noexcept {
    for (Chunk **link = &spare_; *link != nullptr; link = &(*link)->older) {
        Chunk *const chunk = *link;
        if (room_of(chunk) < need) continue;
        *link = chunk->older;
        enter(chunk);
        return true;
    }
    return false;
}

/// Makes a chunk the current one.
template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::enter(Chunk *chunk) noexcept {
    chunk->older = chunk_;
    chunk->cleanups = cleanups_;
    chunk_ = chunk;
    current_ = start_of(chunk);
    floor_ = current_;
    end_ = end_of(chunk);
}

/// Keeps an empty chunk for reuse.
template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::retire(Chunk *chunk, [[maybe_unused]] guard::Fill fill) noexcept {
    if constexpr (checked) guard::close(start_of(chunk), room_of(chunk), fill);
    if (chunk->single) return leave(chunk);
    chunk->older = spare_;
    spare_ = chunk;
}

/// Returns a chunk to the source.
template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::leave(Chunk *chunk) noexcept {
    if constexpr (checked) guard::open(start_of(chunk), room_of(chunk), name);
    held_ -= chunk->size;
    source_.deallocate(chunk, chunk->size, chunk_alignment);
}

template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::end_growth() noexcept {
    if (limit_ != nullptr) end_ = limit_ + back;
    top_ = nullptr;
    limit_ = nullptr;
}

template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::drop() noexcept {
    if (limit_ == nullptr) return;
    if constexpr (checked) {
        const std::size_t has = growing();
        ledger_.discharge(current_ + front, has, true, name);
        guard::close(current_, front + has + back, guard::Fill::freed);
    }
    end_growth();
}

template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::give_back(void *object, std::size_t size) noexcept {
    if (object == nullptr || growing() > 0) return;
    drop();
    auto *const at = static_cast<std::byte *>(object);
    if (at + round_up(size + (size == 0), Granule) == current_) {
        pool_.came_back(object);
        current_ = at;
        floor_ = detail::min(floor_, at);
    }
}

template <Source Upstream, std::size_t Granule>
bool Obstack<Upstream, Granule>::free_from_any(void *object) noexcept {
    if (object == nullptr) return true;
    if constexpr (checked) {
        const bool held = find(object, chunk_) != nullptr || find(object, spare_) != nullptr;
        if (!ledger_.check(object, guard::any_size, held, name)) return false;
    }
    Chunk *chunk = chunk_;
    for (; chunk != nullptr; chunk = chunk->older) {
        const std::size_t used = chunk == chunk_ ? distance(start_of(chunk), current_) : room_of(chunk);
        if (distance(start_of(chunk), object) < used) break;
    }
    if (chunk == nullptr) return false;

    drop();
    // Those in this chunk but in front of the object are older; all others down to the chunk's are newer.
    while (cleanups_ != chunk->cleanups &&
           distance(start_of(chunk), cleanups_) >= distance(start_of(chunk), object))
        run_cleanup();
    drop(); // what a destructor began
    pool_.came_back_from(object);

    if constexpr (checked) {
        ledger_.end_newer_than(object, name);
        void *const raw = guard::raw_of(object);
        ledger_.discharge(object, guard::any_size, true, name);
        guard::open(current_, distance(current_, end_), name);
        object = raw;
    }
    while (chunk_ != chunk) retire(std::exchange(chunk_, chunk_->older), guard::Fill::rewound);
    std::byte *const start = start_of(chunk);
    current_ = start + round_up(distance(start, object), Granule);
    end_ = end_of(chunk);
    floor_ = cleanups_ == chunk->cleanups ? start : start + round_up(distance(start, cleanups_ + 1), Granule);
    if constexpr (checked) guard::close(current_, distance(current_, end_), guard::Fill::rewound);
    return true;
}

template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::run_cleanup() noexcept {
    // Unlinked first: a destructor may allocate here, or make something with a destructor of its own.
    Cleanup *const cleanup = std::exchange(cleanups_, cleanups_->older);
    cleanup->run(cleanup);
}

template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::reset(std::size_t keep) noexcept {
    drop();
    while (cleanups_ != nullptr) run_cleanup();
    drop(); // what a destructor began
    pool_.emptied();
    ledger_.end_newer_than(nullptr, name);
    if constexpr (checked) {
        if (chunk_ != nullptr) guard::open(current_, distance(current_, end_), name);
    }
    // The newest first, which puts the small ones of a growing sequence in front, in the order in which they
    // will be needed again.
    while (chunk_ != nullptr) retire(std::exchange(chunk_, chunk_->older), guard::Fill::reset);
    current_ = nullptr;
    floor_ = nullptr;
    end_ = nullptr;
    trim(keep);
    if (Chunk *const chunk = spare_; chunk != nullptr) {
        spare_ = chunk->older;
        enter(chunk);
    } else {
        next_chunk_ = options_.first_chunk;
    }
}

template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::trim(std::size_t keep) noexcept {
    for (Chunk **link = &spare_; *link != nullptr;) {
        Chunk *const chunk = *link;
        if (chunk->size <= keep) {
            keep -= keep == keep_all ? 0 : chunk->size;
            link = &chunk->older;
        } else {
            *link = chunk->older;
            leave(chunk);
        }
    }
}

/// The chunk of a list that contains the address.
template <Source Upstream, std::size_t Granule>
typename Obstack<Upstream, Granule>::Chunk *Obstack<Upstream, Granule>::find(const void *address,
                                                                             Chunk *chunk) noexcept {
    while (chunk != nullptr && distance(start_of(chunk), address) >= room_of(chunk)) chunk = chunk->older;
    return chunk;
}

template <Source Upstream, std::size_t Granule>
ObstackStatistics Obstack<Upstream, Granule>::statistics() const noexcept {
    ObstackStatistics found;
    found.held = held_;
    for (const Chunk *chunk = spare_; chunk != nullptr; chunk = chunk->older) {
        found.spare += chunk->size;
        ++found.chunks;
    }
    for (const Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) ++found.chunks;
    found.used = held_ - found.spare - (limit_ == nullptr ? distance(current_, end_) : room());
    return found;
}

// Checked mode: the same operations on objects that have guards.

template <Source Upstream, std::size_t Granule>
template <Failure F>
void *Obstack<Upstream, Granule>::guarded(std::size_t size,
                                          std::size_t alignment) noexcept(F == Failure::returns_null) {
    if (!is_alignment(alignment) || !is_possible(size, alignment, guard::extra(alignment))) return fail<F>();
    size += size == 0;
    alignment = detail::max(alignment, chunk_alignment);
    const std::size_t whole = guard::padded(size, alignment);
    void *const raw = take<F>(whole, alignment);
    if (raw == nullptr) return nullptr;
    guard::open(raw, whole, name);
    return ledger_.admit(raw, size, alignment);
}

template <Source Upstream, std::size_t Granule>
template <Failure F>
void *Obstack<Upstream, Granule>::guarded_extend(std::size_t size) noexcept(F == Failure::returns_null) {
    if (limit_ != nullptr) ledger_.check(current_ + front, growing(), true, name);
    Bumped got;
    if (size - 1 < room()) {
        got = {top_, top_ + size};
    } else {
        got = make_room<F>(size);
        if (got.object == nullptr) return nullptr;
    }
    top_ = got.next;
    guard::open(static_cast<std::byte *>(got.object) + back, size, name);
    ledger_.resize(current_ + front, growing());
    return got.object;
}

template <Source Upstream, std::size_t Granule>
void Obstack<Upstream, Granule>::guarded_deallocate(void *object, std::size_t size,
                                                    std::size_t /*alignment*/) noexcept {
    if (object == nullptr) return;
    size += size == 0;
    const bool held = find(object, chunk_) != nullptr || find(object, spare_) != nullptr;
    if (!ledger_.discharge(object, size, held, name)) return;
    auto *const raw = static_cast<std::byte *>(guard::raw_of(object));
    const std::size_t whole = distance(raw, object) + size + back;
    guard::close(raw, whole, guard::Fill::freed);
    give_back(raw, whole);
}

} // namespace reap::inline REAP_MODE
