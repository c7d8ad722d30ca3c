// This file is long because it has the whole interface of the class, its inline hot paths, iteration,
// hardened and checked mode in one template.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/keep.h"
#include "reap/core/link.h"
#include "reap/core/misuse.h"
#include "reap/core/owner.h"
#include "reap/core/quarantine.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// What a mempool holds.
struct MempoolStatistics {
    std::size_t held = 0;   ///< bytes taken from the source
    std::size_t live = 0;   ///< objects
    std::size_t chunks = 0; ///< number of chunks, spare ones included
    std::size_t spare = 0;  ///< bytes in chunks that were kept by clear() for reuse
};

/// Objects of one type in chunks: freed one by one or all together, and iterable meanwhile.
///
/// It serves no other sizes and no arrays, returns no chunk to its source before clear(), is not thread-safe,
/// and can be neither copied nor moved. It writes nothing into a live object: a separate bitmap records which
/// ones live.
///
/// A new object takes the slot that was freed last, otherwise the next one of the newest chunk. create() and
/// destroy() cost some fifteen instructions, not counting the constructor, however many objects there are.
///
/// **Iteration** (`for (T &object : pool)`, in unspecified order) remains valid while objects are created and
/// destroyed, the current one included. It visits each object that lives from its start to its end exactly
/// once, may or may not visit one that is created meanwhile, and never a destroyed one. It terminates even if
/// each step creates an object. Only clear() invalidates iterators. A step costs some ten instructions, and
/// one load for each 64 slots without a live object.
///
/// The idea is Blender's BLI_mempool, which marks free slots by a word that it writes into them, and so
/// forbids that word in objects.
template <class T, Source Upstream = CachedPages>
class Mempool {
    static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_nothrow_destructible_v<T>);
    struct Place;
    struct Block;
    template <class Value>
    class Walk;
    class Parts;

  public:
    using iterator = Walk<T>;
    using const_iterator = Walk<const T>;

    /// As many as fit in 64 KB, but at least one.
    static constexpr std::size_t default_objects_per_chunk() noexcept {
        return detail::max(chunk_size, largest_block) / largest_block * layout(largest_block).capacity;
    }

    /// `objects_per_chunk`: how many objects a chunk has room for; throws std::invalid_argument for 0. The
    /// first chunk is taken for the first object.
    explicit Mempool(std::size_t objects_per_chunk = default_objects_per_chunk())
        requires std::default_initializable<Upstream>
        : layout_(layout_for(objects_per_chunk)), objects_per_chunk_(objects_per_chunk) {}
    explicit Mempool(Upstream source, std::size_t objects_per_chunk = default_objects_per_chunk())
        requires std::copy_constructible<Upstream>
        : layout_(layout_for(objects_per_chunk)), objects_per_chunk_(objects_per_chunk), source_(source) {}
    Mempool(const Mempool &) = delete;
    Mempool &operator=(const Mempool &) = delete;
    ~Mempool() { clear(keep_none); }

    /// Makes a T. Throws what the source throws, otherwise std::bad_alloc, and what T's constructor throws;
    /// then nothing is leaked. If the source converts to T's allocator_type (StlAllocator of the layer that
    /// the pool stands on, std::pmr::polymorphic_allocator over an Upstream), T gets it as its allocator
    /// unless the arguments name one.
    template <class... Arguments>
    [[nodiscard, gnu::returns_nonnull]] T *create(Arguments &&...arguments) {
        void *const place = pool_.handed_out(take<Failure::throws>(), sizeof(T));
        return construct(place, std::forward<Arguments>(arguments)...);
    }

    /// The same, but null if memory is exhausted.
    template <class... Arguments>
    [[nodiscard]] T *try_create(Arguments &&...arguments) noexcept(
        detail::is_nothrow_with_allocator<T, detail::OriginOf<Upstream>, Arguments...>()) {
        void *const place = pool_.handed_out(take<Failure::returns_null>(), sizeof(T));
        return place == nullptr ? nullptr : construct(place, std::forward<Arguments>(arguments)...);
    }

    /// An uninitialized T, for types without effective constructor and destructor. Throws as create().
    [[nodiscard, gnu::returns_nonnull]] T *allocate()
        requires std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>
    {
        return live(::new (pool_.handed_out(take<Failure::throws>(), sizeof(T))) T);
    }

    /// The same, but returns null on failure.
    [[nodiscard]] T *try_allocate() noexcept
        requires std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>
    {
        void *const place = pool_.handed_out(take<Failure::returns_null>(), sizeof(T));
        return place == nullptr ? nullptr : live(::new (place) T);
    }

    /// Destroys an object of this pool; null is ignored. Its slot is the next to be reused. Its destructor
    /// may create and destroy others here, as a tree's does, but neither clear nor end the pool.
    void destroy(T *object) noexcept {
        if (object == nullptr) return;
        if constexpr (checked) {
            if (!ledger_.check(object, guard::any_size, is_place(object), name)) return;
        }
        if constexpr (hardened) {
            if (!is_live(object)) return;
        }
        word_of(object) &= ~bit_of(object);
        object->~T();
        give_back(object);
    }

    /// The same, for objects of allocate().
    void deallocate(T *object) noexcept { destroy(object); }

    /// Destroys all objects, in unspecified order, and keeps chunks of up to `keep` bytes in total for reuse.
    /// Destructors that run here must not use the pool. Linear in the number of chunks, and of objects if T
    /// has a destructor.
    void clear(std::size_t keep = keep_all) noexcept;

    [[nodiscard]] iterator begin() noexcept { return iterator(this, newest_, nullptr); }
    [[nodiscard]] const_iterator begin() const noexcept { return const_iterator(this, newest_, nullptr); }
    [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

    /// The same objects in parts of some 4 KB, each a range like the pool, to divide among threads: `for
    /// (auto part : pool.parts())`. While several threads iterate, none may create or destroy.
    [[nodiscard]] Parts parts() noexcept { return Parts(this); }

    /// Whether the address lies in a slot of this pool, whether or not an object is there. Linear in the
    /// number of chunks.
    [[nodiscard]] bool owns(const void *address) const noexcept;

    /// Linear in the number of slots, at one step per 64.
    [[nodiscard]] MempoolStatistics statistics() const noexcept;
    [[nodiscard]] std::size_t objects_per_chunk() const noexcept { return objects_per_chunk_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "Mempool";

    /// The contents of a free slot.
    struct Place {
        Place *next;
    };

    // A chunk is a sequence of blocks, each at a multiple of its size: an object's block is found from its
    // address, while the chunk can be of any size and come from anywhere.
    static constexpr std::size_t chunk_size = std::size_t{64} << 10;
    static constexpr std::size_t alignment = detail::max(alignof(T), checked ? 16 : alignof(Place));
    // From a slot to its object.
    static constexpr std::size_t lead = checked ? guard::lead(alignment) : 0;
    static constexpr std::size_t place_size = round_up(
        checked ? guard::padded(sizeof(T), alignment) : detail::max(sizeof(T), sizeof(Place)), alignment);
    // One bit per this many bytes: no two objects begin in the same unit, and a shift turns an object's
    // address into its bit.
    static constexpr std::size_t unit = std::bit_floor(place_size);

    struct Block {
        Block *older;
        Block *older_chunk; // of the first block of a chunk
        std::size_t bytes;  // of the chunk, where this is its first block
        [[no_unique_address]] OwnerRecord owner{};
        [[nodiscard]] std::uint64_t *live() noexcept { return reinterpret_cast<std::uint64_t *>(this + 1); }
        [[nodiscard]] std::byte *data() noexcept { return reinterpret_cast<std::byte *>(this); }
    };

    /// The layout of a block.
    struct Layout {
        std::size_t mask;     // its size, which is its alignment, less 1
        std::size_t words;    // of the bitmap
        std::size_t first;    // the first slot
        std::size_t capacity; // slots
        [[nodiscard]] constexpr std::size_t block() const noexcept { return mask + 1; }
    };
    static constexpr Layout layout(std::size_t block) noexcept {
        const std::size_t words = (block / unit + 63) / 64;
        const std::size_t first = round_up(sizeof(Block) + words * sizeof(std::uint64_t), alignment);
        return {block - 1, words, first, block < first ? 0 : (block - first) / place_size};
    }
    // At least eight slots and 4 KB, so that little is lost at the end; a single slot for large objects,
    // since an alignment costs address space.
    static constexpr std::size_t block_for_one() noexcept {
        std::size_t block = std::bit_ceil(place_size);
        while (layout(block).capacity == 0) block *= 2;
        return block;
    }
    static constexpr std::size_t largest_block = detail::max(
        std::size_t{4096}, place_size <= chunk_size ? std::bit_ceil(8 * place_size) : block_for_one(),
        2 * alignment);

    /// Blocks as large as chunks, where these are small.
    static constexpr Layout layout_for(std::size_t objects_per_chunk) {
        if (objects_per_chunk == 0 || objects_per_chunk > max_object / 8 / largest_block)
            throw_invalid(
                "reap::Mempool: a chunk must have room for 1 object at least, and be no larger than "
                "what a program can address");
        std::size_t block = std::bit_ceil(sizeof(Block));
        while (block < largest_block && layout(block).capacity < objects_per_chunk) block *= 2;
        while (layout(block).capacity == 0) block *= 2;
        return layout(block);
    }

    std::size_t offset_of(const void *object) const noexcept {
        return reinterpret_cast<std::uintptr_t>(object) & layout_.mask;
    }
    std::uint64_t &word_of(T *object) const noexcept {
        return block_of(object)->live()[offset_of(object) / (unit * 64)];
    }
    Block *block_of(T *object) const noexcept {
        return reinterpret_cast<Block *>(reinterpret_cast<std::byte *>(object) - offset_of(object));
    }
    std::uint64_t bit_of(const T *object) const noexcept {
        return std::uint64_t{1} << (offset_of(object) / unit % 64);
    }
    /// The object whose bit this is.
    T *object_at(Block *block, std::size_t bit) const noexcept {
        const std::size_t first = layout_.first + lead;
        const std::size_t number = (bit * unit + place_size - 1 - first) / place_size;
        return std::launder(reinterpret_cast<T *>(block->data() + first + number * place_size));
    }

    /// The hot path: room for an object that is not live yet.
    template <Failure F>
    [[gnu::always_inline]] void *take() noexcept(F == Failure::returns_null) {
        if constexpr (checked) return guarded<F>();
        if (Place *const place = free_; place != nullptr) {
            if (links_.is_valid(place)) [[likely]] {
                free_ = links_.next(place);
                if constexpr (hardened) ::new (static_cast<void *>(place)) Place{nullptr};
                return place;
            }
            free_ = nullptr; // the list cannot be followed
            report_misuse({Misuse::use_after_free, place, sizeof(T), name});
        }
        if (fresh_ == fresh_end_) [[unlikely]] {
            if constexpr (hardened) {
                if (void *const place = take_waiting(); place != nullptr) return place;
                if (fresh_ != fresh_end_) return std::exchange(fresh_, fresh_ + place_size);
            }
            if (!next_block<F>()) return nullptr;
        }
        return std::exchange(fresh_, fresh_ + place_size);
    }
    /// Hardened mode: the slot that has been in quarantine longest, if there is no other. Null if the source
    /// has supplied another block, or none is in quarantine.
    [[gnu::noinline]] void *take_waiting() noexcept {
        if (quarantine_.size() == 0 || next_block<Failure::returns_null>()) return nullptr;
        quarantine_.drain([this](void *place) { put_on_list(place); });
        Place *const place = free_;
        if (place == nullptr) return nullptr;
        free_ = links_.next(place);
        return place;
    }

    /// Frees a slot whose object was not constructed after all.
    struct Unfinished {
        Mempool &pool;
        void *object;
        ~Unfinished() {
            if (object != nullptr) pool.give_back(object);
        }
    };
    template <class... Arguments>
    [[gnu::always_inline]] T *construct(void *place, Arguments &&...arguments) {
        Unfinished memory{*this, place};
        T *const object = detail::construct_over<T>(source_, place, std::forward<Arguments>(arguments)...);
        memory.object = nullptr;
        return live(object);
    }
    T *live(T *object) noexcept {
        word_of(object) |= bit_of(object);
        return object;
    }
    [[gnu::always_inline]] void give_back(void *object) noexcept {
        if constexpr (checked) return guarded_give_back(object);
        pool_.came_back(object);
        if constexpr (hardened) {
            links_.template make<Place>(object, nullptr);
            object = quarantine_.exchange(object);
            if (object == nullptr) return;
        }
        put_on_list(object);
    }
    [[gnu::always_inline]] void put_on_list(void *place) noexcept {
        if constexpr (hardened) {
            if (!links_.is_last(static_cast<Place *>(place))) [[unlikely]]
                return report_misuse({Misuse::use_after_free, place, sizeof(T), name});
        }
        free_ = links_.make(place, free_);
    }

    template <Failure F>
    [[gnu::noinline]] bool next_block() noexcept(F == Failure::returns_null);
    template <Failure F>
    Block *take_chunk() noexcept(F == Failure::returns_null);
    void leave(Block *chunk) noexcept;
    static const Block *find(const void *address, const Block *chunk) noexcept;

    template <Failure F>
    void *guarded() noexcept(F == Failure::returns_null);
    void guarded_give_back(void *object) noexcept;
    /// Hardened mode: whether an object of this pool is there; otherwise reports what it is.
    bool is_live(T *object) const noexcept {
        const std::size_t in_blocks = offset_of(object) - layout_.first;
        const bool possible =
            links_.covers(object) && in_blocks < layout_.block() && in_blocks % place_size == 0;
        const bool mine = possible && block_of(object)->owner.names(this);
        if (mine && (word_of(object) & bit_of(object)) != 0) [[likely]]
            return true;
        report_misuse({mine ? Misuse::double_free : Misuse::foreign_free, object, sizeof(T), name,
                       possible && !mine ? block_of(object)->owner.layer() : nullptr});
        return false;
    }
    bool is_place(const T *object) const noexcept;
    void look_at_free_places() noexcept;

    Place *free_ = nullptr;      // freed ones, the last first
    std::byte *fresh_ = nullptr; // slots in the newest block that were never used
    std::byte *fresh_end_ = nullptr;
    Layout layout_;
    Block *newest_ = nullptr;
    Block *chunk_ = nullptr; // the newest; older ones behind it
    Block *spare_ = nullptr; // chunks kept for reuse
    std::size_t left_ = 0;   // slots of the newest chunk in blocks not entered yet
    std::size_t objects_per_chunk_;
    [[no_unique_address]] HeldCopy<Upstream> source_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] Links<Mempool> links_;
    [[no_unique_address]] Quarantined<Mempool> quarantine_;
    [[no_unique_address]] annotate::Pool<Mempool> pool_{name};
};

/// The position of an iteration. Only the slot is stored, and the bitmap is read at each step, so that
/// objects destroyed meanwhile are not visited. New blocks are put in front of all, where no iteration gets
/// any more.
template <class T, Source Upstream>
template <class Value>
class Mempool<T, Upstream>::Walk {
  public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using reference = Value &;
    using pointer = Value *;

    Walk() = default;
    [[nodiscard]] Value &operator*() const noexcept { return *object_; }
    [[nodiscard]] Value *operator->() const noexcept { return object_; }
    Walk &operator++() noexcept {
        seek(bit_ + 1);
        return *this;
    }
    Walk operator++(int) noexcept {
        Walk before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const Walk &a, const Walk &b) noexcept { return a.object_ == b.object_; }
    friend bool operator==(const Walk &walk, std::default_sentinel_t) noexcept {
        return walk.object_ == nullptr;
    }

  private:
    friend Mempool;
    Walk(const Mempool *pool, Block *block, Block *stop) noexcept : pool_(pool), block_(block), stop_(stop) {
        seek(0);
    }
    void seek(std::size_t bit) noexcept {
        for (; block_ != stop_; block_ = block_->older) {
            for (std::uint64_t mask = ~std::uint64_t{0} << (bit % 64); bit < pool_->layout_.words * 64;
                 mask = ~std::uint64_t{0}) {
                if (const std::uint64_t rest = block_->live()[bit / 64] & mask; rest != 0) {
                    bit_ = bit / 64 * 64 + static_cast<unsigned>(std::countr_zero(rest));
                    object_ = pool_->object_at(block_, bit_);
                    return;
                }
                bit = (bit / 64 + 1) * 64;
            }
            bit = 0;
        }
        object_ = nullptr;
    }

    const Mempool *pool_ = nullptr;
    Block *block_ = nullptr;
    Block *stop_ = nullptr;
    std::size_t bit_ = 0;
    Value *object_ = nullptr;
};

/// One block after the other.
template <class T, Source Upstream>
class Mempool<T, Upstream>::Parts {
  public:
    class Part {
      public:
        [[nodiscard]] iterator begin() const noexcept { return iterator(pool_, block_, block_->older); }
        [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

      private:
        friend Parts;
        Part(const Mempool *pool, Block *block) noexcept : pool_(pool), block_(block) {}
        const Mempool *pool_;
        Block *block_;
    };
    class Step {
      public:
        using value_type = Part;
        using difference_type = std::ptrdiff_t;
        Step() = default;
        [[nodiscard]] Part operator*() const noexcept { return Part(pool_, block_); }
        Step &operator++() noexcept {
            block_ = block_->older;
            return *this;
        }
        Step operator++(int) noexcept { return {pool_, std::exchange(block_, block_->older)}; }
        friend bool operator==(const Step &, const Step &) noexcept = default;
        friend bool operator==(const Step &step, std::default_sentinel_t) noexcept {
            return step.block_ == nullptr;
        }

      private:
        friend Parts;
        Step(const Mempool *pool, Block *block) noexcept : pool_(pool), block_(block) {}
        const Mempool *pool_ = nullptr;
        Block *block_ = nullptr;
    };
    [[nodiscard]] Step begin() const noexcept { return Step(pool_, pool_->newest_); }
    [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

  private:
    friend Mempool;
    explicit Parts(const Mempool *pool) noexcept : pool_(pool) {}
    const Mempool *pool_;
};

// The slow path: blocks and chunks, and the end of objects.

/// Enters the next block of the newest chunk, or of another one.
template <class T, Source Upstream>
template <Failure F>
bool Mempool<T, Upstream>::next_block() noexcept(F == Failure::returns_null) {
    Block *block = nullptr;
    if (left_ > 0) {
        std::byte *const at = newest_->data() + layout_.block();
        if constexpr (checked) guard::open(at, layout_.first, name);
        block = ::new (at) Block{};
    } else {
        block = take_chunk<F>();
        if (block == nullptr) return false;
        left_ = objects_per_chunk_;
    }
    block->owner.set(this);
    ::new (block->live()) std::uint64_t[layout_.words]{};
    block->older = newest_;
    newest_ = block;
    const std::size_t places = detail::min(left_, layout_.capacity);
    left_ -= places;
    fresh_ = block->data() + layout_.first;
    fresh_end_ = fresh_ + places * place_size;
    return true;
}

template <class T, Source Upstream>
template <Failure F>
typename Mempool<T, Upstream>::Block *Mempool<T, Upstream>::take_chunk() noexcept(F ==
                                                                                  Failure::returns_null) {
    if (spare_ != nullptr) {
        Block *const chunk = std::exchange(spare_, spare_->older_chunk);
        chunk->older_chunk = chunk_;
        return chunk_ = chunk;
    }
    const annotate::Quiet quiet;
    const std::size_t last = objects_per_chunk_ - 1;
    const std::size_t bytes = last / layout_.capacity * layout_.block() + layout_.first +
                              (last % layout_.capacity + 1) * place_size;
    void *const data = obtain<F>(source_, bytes, layout_.block());
    if (data == nullptr) return nullptr;
    chunk_ = ::new (data) Block{nullptr, chunk_, bytes};
    links_.cover(data, bytes);
    if constexpr (checked)
        guard::close(chunk_->data() + layout_.first, bytes - layout_.first, guard::Fill::fresh);
    return chunk_;
}

/// Returns a chunk to the source.
template <class T, Source Upstream>
void Mempool<T, Upstream>::leave(Block *chunk) noexcept {
    const std::size_t bytes = chunk->bytes;
    if constexpr (checked) guard::open(chunk->data() + layout_.first, bytes - layout_.first, name);
    source_.deallocate(chunk, bytes, layout_.block());
}

template <class T, Source Upstream>
void Mempool<T, Upstream>::clear(std::size_t keep) noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) {
        for (T &object : *this) object.~T();
    }
    pool_.emptied();
    ledger_.end_newer_than(nullptr, name);
    if constexpr (checked) {
        look_at_free_places();
        for (Block *chunk = chunk_; chunk != nullptr; chunk = chunk->older_chunk)
            guard::close(chunk->data() + layout_.first, chunk->bytes - layout_.first, guard::Fill::reset);
    }
    quarantine_.drain([this](void *place) {
        if (!links_.is_last(static_cast<Place *>(place)))
            report_misuse({Misuse::use_after_free, place, sizeof(T), name});
    });
    for (Block *block = newest_; hardened && block != nullptr; block = block->older) block->owner.clear();
    free_ = nullptr;
    fresh_ = nullptr;
    fresh_end_ = nullptr;
    newest_ = nullptr;
    left_ = 0;
    // Spare ones behind those whose memory is in the cache.
    Block **link = &chunk_;
    while (*link != nullptr) link = &(*link)->older_chunk;
    *link = spare_;
    spare_ = std::exchange(chunk_, nullptr);
    for (link = &spare_; *link != nullptr;) {
        Block *const chunk = *link;
        if (chunk->bytes <= keep) {
            keep -= keep == keep_all ? 0 : chunk->bytes;
            link = &chunk->older_chunk;
        } else {
            *link = chunk->older_chunk;
            leave(chunk);
        }
    }
}

/// The chunk of a list that contains the address.
template <class T, Source Upstream>
const typename Mempool<T, Upstream>::Block *Mempool<T, Upstream>::find(const void *address,
                                                                       const Block *chunk) noexcept {
    while (chunk != nullptr &&
           reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(chunk) >=
               chunk->bytes)
        chunk = chunk->older_chunk;
    return chunk;
}

template <class T, Source Upstream>
bool Mempool<T, Upstream>::owns(const void *address) const noexcept {
    return find(address, chunk_) != nullptr;
}

template <class T, Source Upstream>
MempoolStatistics Mempool<T, Upstream>::statistics() const noexcept {
    MempoolStatistics found;
    for (const Block *chunk = chunk_; chunk != nullptr; chunk = chunk->older_chunk) {
        found.held += chunk->bytes;
        ++found.chunks;
    }
    for (const Block *chunk = spare_; chunk != nullptr; chunk = chunk->older_chunk) {
        found.spare += chunk->bytes;
        ++found.chunks;
    }
    found.held += found.spare;
    for (Block *block = newest_; block != nullptr; block = block->older) {
        for (std::size_t word = 0; word < layout_.words; ++word)
            found.live += static_cast<unsigned>(std::popcount(block->live()[word]));
    }
    return found;
}

// Checked mode: the same operations on objects that have guards.

template <class T, Source Upstream>
template <Failure F>
void *Mempool<T, Upstream>::guarded() noexcept(F == Failure::returns_null) {
    std::byte *raw = nullptr;
    std::size_t link = 0;
    if (free_ != nullptr) {
        raw = reinterpret_cast<std::byte *>(free_);
        link = sizeof(Place);
        annotate::defined(raw, link);
        free_ = free_->next;
    } else {
        if (fresh_ == fresh_end_ && !next_block<F>()) return nullptr;
        raw = std::exchange(fresh_, fresh_ + place_size);
    }
    guard::open(raw + link, place_size - link, name);
    return ledger_.admit(raw, sizeof(T), alignment);
}

/// Poisons a slot, except for the link in it.
template <class T, Source Upstream>
void Mempool<T, Upstream>::guarded_give_back(void *object) noexcept {
    void *const raw = guard::raw_of(object);
    if (!ledger_.discharge(object, guard::any_size, true, name)) return;
    guard::close(raw, place_size, guard::Fill::freed);
    annotate::undefined(raw, sizeof(Place));
    free_ = ::new (raw) Place{free_};
    annotate::no_access(raw, sizeof(Place));
}

/// Whether an object of this pool can be at that address.
template <class T, Source Upstream>
bool Mempool<T, Upstream>::is_place(const T *object) const noexcept {
    if (find(object, chunk_) == nullptr && find(object, spare_) == nullptr) return false;
    const std::size_t first = layout_.first + lead;
    return offset_of(object) >= first && (offset_of(object) - first) % place_size == 0;
}

template <class T, Source Upstream>
void Mempool<T, Upstream>::look_at_free_places() noexcept {
    while (free_ != nullptr) {
        auto *const raw = reinterpret_cast<std::byte *>(free_);
        annotate::defined(raw, sizeof(Place));
        free_ = free_->next;
        guard::open(raw + sizeof(Place), place_size - sizeof(Place), name);
    }
    guard::open(fresh_, static_cast<std::size_t>(fresh_end_ - fresh_), name);
}

} // namespace reap::inline REAP_MODE
