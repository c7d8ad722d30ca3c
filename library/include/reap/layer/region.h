// This file is long because it has the whole interface of the class, its inline hot paths and checked mode in
// one template.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/keep.h"
#include "reap/core/running.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/layer/chunked.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// How a region takes chunks from its source. Sizes in bytes.
struct RegionOptions {
    /// The first chunk, which is taken at the first allocation. A region that is made without options takes
    /// it at once, if its source has one in a cache.
    std::size_t first_chunk = std::size_t{8} << 10;
    /// Each further chunk is this many times as large as the one before.
    std::size_t growth = 2;
    /// Maximum size of a chunk, unless for the sake of one object.
    std::size_t largest_chunk = std::size_t{1} << 20;
    /// Larger objects get memory of their own from the source. With 0 all do: the region still frees them
    /// together, but without bump allocation, for experiments.
    std::size_t large_object = std::size_t{256} << 10;
    /// Maximum that the region may hold of its source.
    std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// What a region holds, in bytes.
struct RegionStatistics {
    std::size_t held = 0;          ///< taken from the source
    std::size_t used = 0;          ///< given to objects, rounding and unusable ends of chunks included
    std::size_t spare = 0;         ///< in chunks that were kept at a reset for reuse
    std::size_t chunks = 0;        ///< how many chunks, spare ones included
    std::size_t large_objects = 0; ///< number of objects that have memory of their own
};

namespace detail {

/// The region's mutable state.
struct RegionState {
    struct Chunk {
        Chunk *older;
        std::size_t size;
    };
    struct Large {
        Large *older;
        std::uint64_t
            size_and_alignment; // of all that was taken; the alignment's logarithm in the lowest 6 bits
        [[nodiscard]] std::size_t size() const noexcept { return size_and_alignment >> 6U; }
        [[nodiscard]] std::size_t alignment() const noexcept {
            return std::size_t{1} << (size_and_alignment & 63U);
        }
    };
    struct Cleanup {
        void (*run)(Cleanup *self) = nullptr;
        Cleanup *older = nullptr;
    };
    struct MarkRecord {
        MarkRecord *older;
        std::uint64_t serial;
        Chunk *chunk;
        std::byte *current;
        Large *large;
        Cleanup boundary;   // on the list of cleanups, until all newer ones have run
        const void *newest; // of the ledger
    };

    std::byte *current_ = nullptr;
    std::byte *end_ = nullptr;
    // The beginning of the objects of the only chunk, if a reset need check nothing else; otherwise null. The
    // usual case of a per-request region.
    std::byte *alone_ = nullptr;
    Chunk *chunk_ = nullptr; // the current one; older ones behind it
    std::size_t held_ = 0;
    Chunk *spare_ = nullptr; // chunks kept for reuse
    Large *large_ = nullptr; // the youngest
    Cleanup *cleanups_ = nullptr;
    MarkRecord *marks_ = nullptr;
};

} // namespace detail

/// A region: allocation increments a pointer, and all objects are freed together.
///
/// It does not free single objects (except the last one), is not thread-safe, and can be neither copied nor
/// moved: its objects, marks and nested regions point into it. rewind() and reset() run the destructors of
/// what create() made, the youngest first; memory from allocate() has none. Such a destructor may use the
/// region in any way: what it allocates with destructors during a reset() ends in the same reset. It may also
/// rewind, reset or end the region, unless it is an element of an array or the region is ending already; its
/// object is then gone, and it must touch nothing of it any more.
///
/// Every size is rounded up to Granule, which is also the minimum alignment; a smaller Granule packs more
/// densely (8 saves a fifth where objects are small structures of pointers). Larger alignments are computed
/// from the address.
///
/// allocate() and try_allocate() cost some ten instructions while a chunk has room; the source is asked for a
/// chunk only occasionally. Regions go back to Ross's AED (1967) and Hanson (1990); growth, marks with
/// destructors, and a limit are what users of current libraries expect.
template <Source Upstream = CachedPages, std::size_t Granule = alignof(std::max_align_t)>
class Region : private detail::RegionState, public ArrayMembers<Region<Upstream, Granule>> {
    static_assert(is_alignment(Granule) && Granule <= 4096);
    friend ArrayMembers<Region>;

  public:
    using TypedMembers<Region>::allocate;
    using TypedMembers<Region>::try_allocate;
    using TypedMembers<Region>::deallocate;

    /// A mark to rewind() to.
    using Mark = detail::Mark<Region, MarkRecord>;
    /// A region nested in this one.
    using Nested = Region<Shared<Upstream>, Granule>;

    // Not defaulted: gcc 12 would clear the object by an instruction that takes longer than ten allocations.
    Region() noexcept
        requires std::default_initializable<Upstream>
        : options_(&default_options) {
        begin();
    }
    explicit Region(const RegionOptions &options) noexcept
        requires std::default_initializable<Upstream>
        : own_options_(options) {
        options_ = &own_options_;
    }
    explicit Region(Upstream source, const RegionOptions &options = {}) noexcept
        requires std::copy_constructible<Upstream>
        : own_options_(options), source_(source) {
        options_ = &own_options_;
    }
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;
    [[gnu::always_inline]] ~Region() {
        constexpr std::size_t usual = RegionOptions{}.first_chunk;
        if (alone_ != nullptr && spare_ == nullptr && chunk_->size == usual) [[likely]] {
            pool_.emptied();
            source_.deallocate(chunk_, usual, chunk_alignment);
        } else {
            while (cleanups_ != nullptr) (void)run_cleanup();
            all_came_back();
            out_of_line([](Region &region) { return region.reset_slow(keep_none), true; });
        }
    }

    /// Memory for an object; throws what the source throws, otherwise std::bad_alloc. A size of 0 counts as
    /// 1.
    // Not declared with gnu::alloc_size: resize() may make an object larger than the compiler would then
    // assume.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = Granule) {
        if constexpr (checked) return guarded<Failure::throws>(size, alignment);
        return handed_out(take<Failure::throws>(size, alignment), size);
    }

    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded<Failure::returns_null>(size, alignment);
        return handed_out(take<Failure::returns_null>(size, alignment), size);
    }

    /// The same, or null, with the object's usable size: the size, rounded up to Granule. Checked mode
    /// returns exactly the requested size, so that it detects the first byte beyond it.
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size,
                                                   std::size_t alignment = Granule) noexcept {
        if (!checked && size <= max_object) size = round_up(size + (size == 0), Granule);
        void *const object = try_allocate(size, alignment);
        return {object, object == nullptr ? 0 : size};
    }

    /// Frees the object that was allocated last; any other stays until the region is rewound or reset.
    void deallocate(void *object, std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded_deallocate(object, size, alignment);
        (void)alignment;
        give_back(object, size);
    }

    /// Resizes the object that was allocated last in place, and returns whether it could. Any other object
    /// only "shrinks", without effect. A size of 0 counts as 1.
    [[nodiscard]] bool resize(void *object, std::size_t old_size, std::size_t new_size) noexcept {
        if constexpr (checked) return guarded_resize(object, old_size, new_size);
        return resize_raw(object, old_size, new_size);
    }

    /// Makes a T. Its destructor runs at rewind() or reset(), the youngest object's first; a trivial one
    /// costs nothing. Throws as allocate() and as T's constructor; then nothing is leaked. If this region
    /// converts to T's allocator_type (StlAllocator), T gets it as its allocator unless the arguments name
    /// one.
    template <class T, class... Arguments>
    [[nodiscard]] T *create(Arguments &&...arguments) {
        if constexpr (std::is_trivially_destructible_v<T>) {
            void *const data = allocate(sizeof(T), alignof(T));
            Unfinished memory{*this, data, sizeof(T), alignof(T), data};
            T *const object = detail::construct<T>(*this, memory.data, std::forward<Arguments>(arguments)...);
            memory.data = nullptr;
            return object;
        } else {
            using Node = WithCleanup<T>;
            void *const data = annotate::quietly([this] { return allocate(sizeof(Node), alignof(Node)); });
            Unfinished memory{*this, data, sizeof(Node), alignof(Node), nullptr};
            auto *const node = ::new (memory.data) Node;
            memory.object = handed_out(node->storage, sizeof(T));
            T *const object =
                detail::construct<T>(*this, node->storage, std::forward<Arguments>(arguments)...);
            memory.data = nullptr;
            node->run = [](Cleanup *self) {
                std::launder(reinterpret_cast<T *>(static_cast<Node *>(self)->storage))->~T();
            };
            link(node, data);
            return object;
        }
    }

    /// Makes a region nested in this one. It takes its chunks from the same source, and ends at the latest
    /// when this one is rewound past this call, reset or destroyed. Its own reset(keep_none) returns its
    /// memory earlier.
    [[nodiscard]] Nested &nest(const RegionOptions &options = {}) {
        return *create<Nested>(Shared<Upstream>(source_), options);
    }

    /// A mark to rewind to. Takes 64 bytes of the region until it is rewound past or reset.
    [[nodiscard]] Mark mark();

    /// Frees everything allocated since the mark was taken, and runs the destructors. The mark stays valid;
    /// marks taken since become stale. Returns false, and does nothing, if the mark itself is stale: the
    /// region was rewound past it or reset, or the mark is another region's. Checked mode reports that.
    bool rewind(const Mark &mark) noexcept;

    /// Frees all objects, runs their destructors, and keeps chunks of up to `keep` bytes in total for reuse;
    /// the largest are released first. The statistics are reset; marks become stale.
    void reset(std::size_t keep = keep_all) noexcept {
        if (alone_ != nullptr && keep == keep_all) [[likely]] {
            pool_.emptied();
            current_ = alone_;
        } else {
            while (cleanups_ != nullptr)
                if (!run_cleanup()) [[unlikely]]
                    return;
            all_came_back();
            out_of_line([keep](Region &region) { return region.reset_slow(keep), true; });
        }
    }

    /// Takes over everything that `other` holds: objects, pending destructors, large objects. `other` is then
    /// empty, as after reset(keep_none), and its marks are stale. The rest of this region's current chunk is
    /// not used again before a reset. The sources must be equal. Linear in the number of objects with
    /// destructors of `other`.
    void splice(Region &other) noexcept;

    /// Whether the address lies in a chunk or large object of this region. Linear in the number of these.
    [[nodiscard]] bool owns(const void *address) const noexcept;

    [[nodiscard]] RegionStatistics statistics() const noexcept;
    [[nodiscard]] const RegionOptions &options() const noexcept { return *options_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "Region";
    using Pool = annotate::Pool<Region>;
    using Silent = typename Pool::Silent;

    template <class T>
    struct WithCleanup : Cleanup {
        alignas(T) std::byte storage[sizeof(T)];
    };
    /// The block of an array. The record is in front, so that checked mode finds writes behind the array.
    template <class T>
    struct ArrayBlock {
        using Record = detail::ArrayRecord<T, Cleanup>;
        static constexpr bool has_record = !std::is_trivially_destructible_v<T>;
        static constexpr std::size_t lead = has_record ? round_up(sizeof(Record), alignof(T)) : 0;
        static constexpr std::size_t alignment =
            has_record ? detail::max(alignof(T), alignof(Record)) : alignof(T);
        static constexpr std::size_t size(std::size_t count) noexcept {
            return lead + count * sizeof(T) + (count == 0);
        }
        static void *place_of_record(T *first, std::size_t /*count*/) noexcept {
            return reinterpret_cast<std::byte *>(first) - lead;
        }
    };
    /// Memory for an object whose constructor may still throw.
    struct Unfinished {
        Region &region;
        void *data;
        std::size_t size;
        std::size_t alignment;
        const void *object; // in there
        ~Unfinished() {
            if (data == nullptr) return;
            region.pool_.came_back(object);
            const annotate::Quiet quiet;
            region.deallocate(data, size, alignment);
        }
    };
    [[nodiscard]] Unfinished unfinished(void *data, std::size_t size, std::size_t alignment,
                                        const void *object) noexcept {
        return {*this, data, size, alignment, object};
    }

    static constexpr std::size_t chunk_alignment = detail::max(Granule, alignof(std::max_align_t));
    static constexpr std::size_t chunk_lead = round_up(sizeof(Chunk), chunk_alignment);

    static std::byte *start_of(Chunk *chunk) noexcept {
        return reinterpret_cast<std::byte *>(chunk) + chunk_lead;
    }
    static std::byte *end_of(Chunk *chunk) noexcept {
        return reinterpret_cast<std::byte *>(chunk) + (chunk->size & ~(chunk_alignment - 1));
    }
    static constexpr std::size_t large_lead(std::size_t alignment) noexcept {
        return round_up(sizeof(Large), alignment);
    }
    // The header lies directly in front of the object, whatever the alignment.
    static void *object_of(Large *large) noexcept { return large + 1; }

    /// An object and where the next one begins; or null, and where it would begin, or the exception to throw.
    struct Bumped {
        void *object;
        std::byte *next;
    };

    /// The hot path. Out-of-line code returns what `current_` becomes, and every store to it is here: so a
    /// loop that allocates keeps the pointer in a register.
    template <Failure F>
    [[gnu::always_inline]] void *take(std::size_t size, std::size_t alignment) {
        Bumped got;
        if (!bump(size, alignment, got)) [[unlikely]] {
            got = out_of_line([=](Region &region) { return region.grow<F>(size, alignment); });
            if (F == Failure::throws && got.object == nullptr) [[unlikely]]
                HeldException::rethrow(got.next);
        }
        current_ = got.next;
        return got.object;
    }

    /// All checks come before the sums, so none can wrap. A size of 0, and one that would wrap when rounded,
    /// fail the same comparison that a full chunk fails. `current_` is a multiple of Granule, `end_` of
    /// chunk_alignment.
    [[gnu::always_inline]] bool bump(std::size_t size, std::size_t alignment, Bumped &got) const noexcept {
        if (!is_alignment(alignment)) [[unlikely]]
            return false;
        std::byte *at = current_;
        auto room = static_cast<std::size_t>(end_ - at);
        if (alignment > Granule) {
            const std::size_t padding = padding_at(at, alignment);
            if (alignment > chunk_alignment && padding > room) [[unlikely]]
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

    /// Passes a copy of the region through out-of-line code, and then takes over its state. So the address of
    /// a local region does not escape, and the compiler keeps all of it in registers. A source that cannot be
    /// copied works in place.
    template <class Call>
    [[gnu::always_inline]] auto out_of_line(Call call) {
        if constexpr (!checked && std::copy_constructible<Upstream>) {
            Detached copy{*this};
            const auto result = call(copy.region);
            static_cast<RegionState &>(*this) = copy.region;
            return result;
        } else {
            return call(*this);
        }
    }
    struct Copy {};
    Region(const Region &other, Copy /*tag*/) noexcept
        : RegionState(other), options_(other.options_), source_(other.source_), pool_(Silent()) {}
    /// A copy whose destructor releases nothing.
    union Detached {
        explicit Detached(const Region &other) noexcept : region(other, Copy{}) {}
        Detached(const Detached &) = delete;
        Detached &operator=(const Detached &) = delete;
        ~Detached() {}
        Region region;
    };

    /// Takes the first chunk if the source has one in a cache.
    void begin() noexcept {
        if constexpr (!checked && CachingSource<Upstream>) {
            const Allocation got = source_.try_allocate_cached(RegionOptions{}.first_chunk, chunk_alignment);
            if (got.data != nullptr) [[likely]]
                adopt(got);
        }
    }

    // What is allocated after a mark is a separate part, identified by the mark's record.
    template <class Object>
    [[gnu::always_inline]] Object *handed_out(Object *object, std::size_t size) const noexcept {
        return Pool::handed_out_of(part(), object, size);
    }
    [[nodiscard]] const void *part() const noexcept {
        return REAP_MARK_POOLS && marks_ != nullptr ? static_cast<const void *>(marks_) : &pool_;
    }
    void all_came_back() const noexcept {
        detail::end_parts_since<Pool>(marks_, nullptr);
        pool_.emptied();
    }
    void came_back_since(const MarkRecord *mark) const noexcept {
        detail::end_parts_since<Pool>(marks_, mark);
        Pool::emptied(mark);
    }
    void take_over_objects(const Region &other) const noexcept {
        for (const MarkRecord *record = other.marks_; REAP_MARK_POOLS && record != nullptr;
             record = record->older) {
            Pool::merge(part(), record);
            Pool::end_part(record);
        }
        Pool::merge(part(), &other.pool_);
    }

    [[gnu::noinline]] void reset_slow(std::size_t keep) noexcept;
    void give_back(void *object, std::size_t size) noexcept;
    bool resize_raw(void *object, std::size_t old_size, std::size_t new_size) noexcept;
    template <Failure F, bool Catches = with_exceptions>
    [[gnu::noinline]] Bumped grow(std::size_t size, std::size_t alignment) noexcept(Catches);
    template <Failure F>
    Bumped grow_or_fail(std::size_t size, std::size_t alignment);
    template <Failure F>
    void *take_open(std::size_t size, std::size_t alignment);
    template <Failure F>
    void *take_large(std::size_t size, std::size_t alignment);
    template <Failure F>
    bool take_chunk(std::size_t need);
    void adopt(Allocation got) noexcept;
    void enter(Chunk *chunk) noexcept;
    void leave(Chunk *chunk) noexcept;
    void link(Cleanup *cleanup, const void * /*block*/) noexcept {
        cleanup->older = cleanups_;
        cleanups_ = cleanup;
        alone_ = nullptr;
    }
    /// Runs the youngest destructor. Returns false if all was freed meanwhile: then nothing is left to do. In
    /// place and inline: a destructor may use this region.
    bool run_cleanup() noexcept {
        // Unlinked first: the destructor may allocate here, or make something with a destructor of its own.
        return detail::Running::run(std::exchange(cleanups_, cleanups_->older)) != detail::Ran::gone;
    }
    /// Of a mark: all that is newer has run.
    static void pass_mark(Cleanup *self) noexcept { self->run = nullptr; }
    void free_large(const Large *last) noexcept;

    template <Failure F>
    void *guarded(std::size_t size, std::size_t alignment);
    void guarded_deallocate(void *object, std::size_t size, std::size_t alignment) noexcept;
    bool guarded_resize(void *object, std::size_t old_size, std::size_t new_size) noexcept;

    static constexpr RegionOptions default_options{};
    union {
        RegionOptions own_options_;
    };
    // Set in a constructor's body: in the initializer list clang takes the union for uninitialized.
    const RegionOptions *options_ = nullptr;
    [[no_unique_address]] HeldCopy<Upstream> source_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] Pool pool_{name};
};

Region() -> Region<>;
Region(RegionOptions) -> Region<>;
template <class S>
Region(S &) -> Region<Shared<S>>;
template <class S>
Region(S &, RegionOptions) -> Region<Shared<S>>;

// The slow path: when a chunk is full, and when objects end.

template <Source Upstream, std::size_t Granule>
template <Failure F, bool Catches>
typename Region<Upstream, Granule>::Bumped
Region<Upstream, Granule>::grow(std::size_t size, std::size_t alignment) noexcept(Catches) {
#if defined(__cpp_exceptions)
    if constexpr (Catches && F == Failure::throws) {
        try {
            return grow_or_fail<F>(size, alignment);
        } catch (...) {
            return {nullptr, HeldException::hold()};
        }
    } else
#endif
    {
        return grow_or_fail<F>(size, alignment);
    }
}

template <Source Upstream, std::size_t Granule>
template <Failure F>
typename Region<Upstream, Granule>::Bumped Region<Upstream, Granule>::grow_or_fail(std::size_t size,
                                                                                   std::size_t alignment) {
    if (!is_possible(size, alignment, chunk_lead)) return {fail<F>(), current_};
    Bumped got{nullptr, current_};
    if (size == 0) {
        size = 1;
        if (bump(size, alignment, got)) return got;
    }
    const std::size_t need = round_up(size, Granule) + (alignment > Granule ? alignment - Granule : 0);
    if (need > options_->large_object) return {take_large<F>(size, alignment), current_};
    if (!take_chunk<F>(need)) return {nullptr, current_};
    bump(size, alignment, got);
    return got;
}

template <Source Upstream, std::size_t Granule>
template <Failure F>
bool Region<Upstream, Granule>::take_chunk(std::size_t need) {
    const std::size_t least = chunk_lead + round_up(need, chunk_alignment); // as end_of() rounds down
    if (Chunk **const largest = detail::largest_of(spare_);
        *largest != nullptr && need <= static_cast<std::size_t>(end_of(*largest) - start_of(*largest))) {
        enter(detail::take_off(largest));
        return true;
    }

    const annotate::Quiet quiet;
    const std::size_t allowed = detail::below_limit(*options_, held_);
    if (least > allowed) return fail<F>() != nullptr;
    const std::size_t wanted =
        detail::min(detail::max(least, detail::next_chunk(*options_, chunk_)), allowed);
    Allocation got;
    if (wanted > least) got = obtain_at_least<Failure::returns_null>(source_, wanted, chunk_alignment);
    // A source that cannot supply the usual size may still supply the needed one.
    if (got.data == nullptr) got = obtain_at_least<F>(source_, least, chunk_alignment);
    if (got.data == nullptr) return false;

    adopt(got);
    return true;
}

/// Makes memory from the source the current chunk.
template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::adopt(Allocation got) noexcept {
    // A source may return more than requested, and the limit counts all that is held. Memory beyond the limit
    // is not used: at deallocation a source accepts any size between the two.
    got.size = detail::min(got.size, options_->limit - held_);
    held_ += got.size;
    Chunk *const chunk = ::new (got.data) Chunk{nullptr, got.size};
    if constexpr (checked) {
        guard::close(start_of(chunk), static_cast<std::size_t>(end_of(chunk) - start_of(chunk)),
                     guard::Fill::fresh);
    }
    enter(chunk);
}

template <Source Upstream, std::size_t Granule>
template <Failure F>
void *Region<Upstream, Granule>::take_large(std::size_t size, std::size_t alignment) {
    const annotate::Quiet quiet;
    alignment = detail::max(alignment, chunk_alignment);
    const std::size_t lead = large_lead(alignment);
    const std::size_t allowed = detail::below_limit(*options_, held_);
    if (!is_possible(size, alignment, lead) || lead + size > max_object >> 6U || lead + size > allowed)
        return fail<F>();
    auto *const data = static_cast<std::byte *>(obtain<F>(source_, lead + size, alignment));
    if (data == nullptr) return nullptr;
    held_ += lead + size;
    alone_ = nullptr;
    large_ = ::new (data + lead - sizeof(Large))
        Large{large_, (lead + size) << 6U | static_cast<unsigned>(std::countr_zero(alignment))};
    if constexpr (checked) guard::close(data + lead, size, guard::Fill::fresh);
    return data + lead;
}

/// Makes a chunk the current one.
template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::enter(Chunk *chunk) noexcept {
    chunk->older = chunk_;
    chunk_ = chunk;
    current_ = start_of(chunk);
    end_ = end_of(chunk);
    const bool alone = !checked && chunk->older == nullptr && large_ == nullptr && cleanups_ == nullptr;
    alone_ = alone ? current_ : nullptr;
}

/// Returns a chunk to the source.
template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::leave(Chunk *chunk) noexcept {
    if constexpr (checked) {
        guard::open(start_of(chunk), static_cast<std::size_t>(end_of(chunk) - start_of(chunk)), name);
    }
    held_ -= chunk->size;
    detail::Running::gone(chunk, chunk->size);
    source_.deallocate(chunk, chunk->size, chunk_alignment);
}

template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::free_large(const Large *last) noexcept {
    while (large_ != last) {
        Large *const large = std::exchange(large_, large_->older);
        const std::size_t alignment = large->alignment();
        const std::size_t size = large->size();
        auto *const data = static_cast<std::byte *>(object_of(large)) - large_lead(alignment);
        annotate::defined(data, size);
        held_ -= size;
        // Without a mark all is freed.
        if (marks_ == nullptr)
            detail::Running::gone(data, size);
        else
            detail::Running::freed(data, size);
        source_.deallocate(data, size, alignment);
    }
}

template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::give_back(void *object, std::size_t size) noexcept {
    if (object == nullptr) return;
    auto *const at = static_cast<std::byte *>(object);
    if (at + round_up(size + (size == 0), Granule) == current_) {
        pool_.came_back(object);
        current_ = at;
    } else if (large_ != nullptr && object == object_of(large_) &&
               (marks_ == nullptr || marks_->large != large_)) {
        pool_.came_back(object);
        out_of_line([](Region &region) { return region.free_large(region.large_->older), true; });
    }
}

template <Source Upstream, std::size_t Granule>
bool Region<Upstream, Granule>::resize_raw(void *object, std::size_t old_size,
                                           std::size_t new_size) noexcept {
    auto *const at = static_cast<std::byte *>(object);
    // As in bump(): a size of 0 fails.
    const std::size_t old_last = (old_size - 1) & ~(Granule - 1);
    const std::size_t new_last = (new_size - 1) & ~(Granule - 1);
    // As a number: for a size of 0 it lies in front of the object.
    const std::uintptr_t old_end = reinterpret_cast<std::uintptr_t>(at) + old_last + Granule;
    const bool is_last = old_end == reinterpret_cast<std::uintptr_t>(current_);
    if (is_last && new_last < static_cast<std::size_t>(end_ - at)) [[likely]] {
        current_ = at + new_last + Granule;
        pool_.came_back(object);
        handed_out(object, new_size);
        return true;
    }
    if (old_size == 0 || new_size == 0)
        return resize_raw(object, detail::max(old_size, std::size_t{1}),
                          detail::max(new_size, std::size_t{1}));
    return !is_last && new_size <= old_size;
}

template <Source Upstream, std::size_t Granule>
typename Region<Upstream, Granule>::Mark Region<Upstream, Granule>::mark() {
    void *const data =
        take_open<Failure::throws>(sizeof(MarkRecord), detail::max(Granule, alignof(MarkRecord)));
    marks_ = ::new (data) MarkRecord{marks_, detail::next_mark(),    chunk_,          current_,
                                     large_, {pass_mark, cleanups_}, ledger_.newest()};
    cleanups_ = &marks_->boundary;
    Pool::begin_part(marks_);
    alone_ = nullptr; // a reset makes marks stale
    Mark mark;
    mark.refer_to(marks_);
    return mark;
}

template <Source Upstream, std::size_t Granule>
bool Region<Upstream, Granule>::rewind(const Mark &mark) noexcept {
    MarkRecord *record = mark.find_in(marks_);
    if (record == nullptr) {
        if constexpr (checked) report_misuse({Misuse::stale_mark, mark.record_, 0, name});
        return false;
    }
    // A destructor may end what the mark lies in, or rewind further, or reset: then this is done.
    for (const Mark copy = mark; record->boundary.run != nullptr && cleanups_ != &record->boundary;) {
        if (!run_cleanup()) return true;
        record = copy.find_in(marks_);
        if (record == nullptr) return true;
    }
    came_back_since(record);
    ledger_.end_newer_than(record->newest, name);
    if constexpr (checked) {
        if (chunk_ != nullptr) guard::open(current_, static_cast<std::size_t>(end_ - current_), name);
    }
    marks_ = record;
    free_large(record->large);
    while (chunk_ != record->chunk) {
        if constexpr (checked) {
            guard::close(start_of(chunk_), static_cast<std::size_t>(end_of(chunk_) - start_of(chunk_)),
                         guard::Fill::rewound);
        }
        detail::Running::freed(chunk_, chunk_->size);
        detail::move_first(chunk_, spare_);
    }
    current_ = record->current;
    end_ = chunk_ == nullptr ? nullptr : end_of(chunk_);
    detail::Running::freed(current_, static_cast<std::size_t>(end_ - current_));
    if constexpr (checked) {
        if (chunk_ != nullptr)
            guard::close(current_, static_cast<std::size_t>(end_ - current_), guard::Fill::rewound);
    }
    return true;
}

template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::reset_slow(std::size_t keep) noexcept {
    ledger_.end_newer_than(nullptr, name);
    if constexpr (checked) {
        if (chunk_ != nullptr) guard::open(current_, static_cast<std::size_t>(end_ - current_), name);
    }
    marks_ = nullptr;
    free_large(nullptr);

    Chunk *row = detail::oldest_first(std::exchange(chunk_, nullptr), spare_, [](Chunk *chunk) {
        if constexpr (checked) {
            guard::close(start_of(chunk), static_cast<std::size_t>(end_of(chunk) - start_of(chunk)),
                         guard::Fill::reset);
        }
        detail::Running::freed(chunk, chunk->size);
    });
    Chunk *kept = nullptr;
    Chunk **last = &kept;
    while (row != nullptr) {
        Chunk *const chunk = std::exchange(row, row->older);
        if (chunk->size <= keep) {
            keep -= keep == keep_all ? 0 : chunk->size;
            *last = chunk;
            last = &chunk->older;
        } else {
            leave(chunk);
        }
    }
    *last = nullptr;

    if (kept == nullptr) {
        current_ = nullptr;
        end_ = nullptr;
        alone_ = nullptr;
        spare_ = nullptr;
    } else {
        Chunk *const first = detail::take_off(detail::largest_of(kept));
        spare_ = kept;
        enter(first);
        if (detail::Running::any()) alone_ = nullptr; // its end has more to do
    }
}

template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::splice(Region &other) noexcept {
    static_assert(
        std::copy_constructible<Upstream> && std::equality_comparable<Upstream>,
        "regions that own their sources cannot exchange memory: let both refer to one, by reap::Ref");
    if (&other == this) return;
    const auto put_behind = [](auto *&front, auto *&mine) {
        if (front == nullptr) return;
        auto *oldest = front;
        while (oldest->older != nullptr) oldest = oldest->older;
        oldest->older = mine;
        mine = std::exchange(front, nullptr);
    };
    if (other.chunk_ != nullptr) {
        current_ = std::exchange(other.current_, nullptr);
        end_ = std::exchange(other.end_, nullptr);
    }
    alone_ = other.alone_ = nullptr;
    put_behind(other.chunk_, chunk_);
    put_behind(other.spare_, spare_);
    put_behind(other.large_, large_);
    put_behind(other.cleanups_, cleanups_);
    ledger_.splice(other.ledger_);
    take_over_objects(other);
    other.marks_ = nullptr;
    held_ += std::exchange(other.held_, 0);
}

template <Source Upstream, std::size_t Granule>
bool Region<Upstream, Granule>::owns(const void *address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto lies_in = [at](const void *data, std::size_t size) {
        return at - reinterpret_cast<std::uintptr_t>(data) < size;
    };
    for (Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
        if (lies_in(start_of(chunk), static_cast<std::size_t>(end_of(chunk) - start_of(chunk)))) return true;
    }
    for (Large *large = large_; large != nullptr; large = large->older) {
        if (lies_in(object_of(large), large->size() - large_lead(large->alignment()))) return true;
    }
    return false;
}

template <Source Upstream, std::size_t Granule>
RegionStatistics Region<Upstream, Granule>::statistics() const noexcept {
    RegionStatistics found;
    found.held = held_;
    for (const Chunk *chunk = spare_; chunk != nullptr; chunk = chunk->older) {
        found.spare += chunk->size;
        ++found.chunks;
    }
    for (const Chunk *chunk = chunk_; chunk != nullptr; chunk = chunk->older) ++found.chunks;
    for (const Large *large = large_; large != nullptr; large = large->older) ++found.large_objects;
    found.used = held_ - found.spare - static_cast<std::size_t>(end_ - current_);
    return found;
}

// Checked mode: the same operations on objects that have guards.

/// Raw memory for the region's own records or for a guarded object: bumped, and unpoisoned.
template <Source Upstream, std::size_t Granule>
template <Failure F>
void *Region<Upstream, Granule>::take_open(std::size_t size, std::size_t alignment) {
    void *const raw = take<F>(size, alignment);
    if constexpr (checked) {
        if (raw != nullptr) guard::open(raw, size, name);
    }
    return raw;
}

template <Source Upstream, std::size_t Granule>
template <Failure F>
void *Region<Upstream, Granule>::guarded(std::size_t size, std::size_t alignment) {
    if (!is_alignment(alignment) || !is_possible(size, alignment, guard::extra(alignment))) return fail<F>();
    size += size == 0;
    alignment = detail::max(alignment, chunk_alignment);
    void *const raw = take_open<F>(guard::padded(size, alignment), alignment);
    return raw == nullptr ? nullptr : ledger_.admit(raw, size, alignment);
}

template <Source Upstream, std::size_t Granule>
void Region<Upstream, Granule>::guarded_deallocate(void *object, std::size_t size,
                                                   std::size_t /*alignment*/) noexcept {
    if (object == nullptr) return;
    size += size == 0;
    if (!ledger_.discharge(object, size, owns(object), name)) return;
    // A mark refers to the last object when it was taken: now to the one before.
    for (MarkRecord *record = marks_; record != nullptr; record = record->older) {
        if (record->newest == object) record->newest = Ledger::older_than(object);
    }
    auto *const raw = static_cast<std::byte *>(guard::raw_of(object));
    const std::size_t whole =
        static_cast<std::size_t>(static_cast<std::byte *>(object) - raw) + size + guard::back_zone;
    guard::close(raw, whole, guard::Fill::freed);
    give_back(raw, whole);
}

template <Source Upstream, std::size_t Granule>
bool Region<Upstream, Granule>::guarded_resize(void *object, std::size_t old_size,
                                               std::size_t new_size) noexcept {
    old_size += old_size == 0;
    new_size += new_size == 0;
    if (!ledger_.check(object, old_size, owns(object), name)) return false;
    auto *const raw = static_cast<std::byte *>(guard::raw_of(object));
    const std::size_t around =
        static_cast<std::size_t>(static_cast<std::byte *>(object) - raw) + guard::back_zone;
    if (new_size > max_object - around || !resize_raw(raw, around + old_size, around + new_size))
        return false;
    if (new_size > old_size) {
        guard::open(raw + around + old_size, new_size - old_size, name);
        ledger_.resize(object, new_size);
    } else if (new_size < old_size) {
        // In this order: AddressSanitizer cannot poison only the first bytes of a group of eight, so the
        // front comes last.
        guard::close(raw + around + new_size, old_size - new_size, guard::Fill::freed);
        ledger_.resize(object, new_size);
    }
    return true;
}

} // namespace reap::inline REAP_MODE

#include "reap/layer/region/prebuilt.h" // IWYU pragma: keep
