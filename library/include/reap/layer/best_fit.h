#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/layer/best_fit/size_bins.h"
#include "reap/layer/best_fit/size_tree.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// How a BestFit takes memory from its source. Sizes in bytes.
struct BestFitOptions {
    /// Size of all chunks: at least 4 KB.
    std::size_t chunk = std::size_t{2} << 20;
    /// Larger objects, or those with a stricter alignment, have memory of their own from the source. At most
    /// a quarter of a chunk.
    std::size_t large_object = std::size_t{512} << 10;
};

/// What a BestFit holds, in bytes.
struct BestFitStatistics {
    std::size_t chunks = 0; ///< in chunks
    std::size_t free = 0;   ///< of that, in free blocks
    std::size_t large = 0;  ///< in objects that have memory of their own
    std::size_t purged = 0; ///< of what is free, in blocks that were purged
};

/// A general heap with boundary tags (Knuth, 1968): a request gets the smallest free block that fits, among
/// equals the one at the lowest address; the remainder stays free. A freed block is coalesced with its free
/// neighbours at once.
///
/// An object costs 8 bytes for its tag, and no block is smaller than 32; blocks are multiples of the granule,
/// as the addresses of objects are. allocate and deallocate take logarithmic time in the number of free
/// blocks; with an index of bins (GoodFit), constant time. Empty chunks are returned to the source, except
/// for one.
///
/// Not thread-safe (Locked). It does not detect misuse, not even in checked mode. Its destructor returns live
/// objects to the source as well.
template <Source Upstream = SystemPages, std::size_t Granule = 16, class Index = detail::SizeTree>
class BestFit {
    static_assert(Granule == 8 || Granule == 16, "tags take 8 bytes");

    using Block = detail::FreeBlock;

  public:
    static constexpr std::size_t granule = Granule;

    constexpr explicit BestFit(const BestFitOptions &options = {}) noexcept
        requires std::default_initializable<Upstream>
        : options_(sensible(options)) {}
    constexpr explicit BestFit(Upstream source, const BestFitOptions &options = {}) noexcept
        requires std::copy_constructible<Upstream>
        : source_(source), options_(sensible(options)) {}
    BestFit(const BestFit &) = delete;
    BestFit &operator=(const BestFit &) = delete;
    ~BestFit() {
        pool_.emptied();
        while (chunks_ != nullptr) release(chunks_);
        while (large_ != nullptr) free_large(large_);
    }

    /// Memory of `size` bytes, 0 counting as 1; throws what the source throws, otherwise std::bad_alloc.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment) {
        return pool_.handed_out(take<Failure::throws>(size, alignment), size);
    }
    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return pool_.handed_out(take<Failure::returns_null>(size, alignment), size);
    }
    /// The same without asking the source.
    [[nodiscard]] void *try_allocate_held(std::size_t size, std::size_t alignment) noexcept {
        if (!is_possible(size, alignment, overhead) || is_large(size, alignment)) return nullptr;
        const std::size_t whole = block_for(size);
        Block *const found = free_.best(alignment <= granule ? whole : whole + alignment + least);
        return found == nullptr ? nullptr : pool_.handed_out(carve(found, whole, alignment), size);
    }

    /// Frees such memory. Null is ignored.
    void deallocate(void *object) noexcept {
        if (object == nullptr) return;
        pool_.came_back(object);
        if constexpr (REAP_ASAN) annotate::undefined(object, usable_size(object)); // its end gets a tag
        std::byte *start = static_cast<std::byte *>(object) - tag_size;
        const std::size_t tag = load(start);
        if ((tag & large) != 0) return free_large(large_of(object));
        std::size_t size = tag & ~Block::flags;
        store(start, tag & ~used); // for is_live(), where it is merged with the one before
        if ((tag & previous_used) == 0) {
            const std::size_t before = load(start - tag_size);
            start -= before;
            take_out(block_at(start));
            size += before;
        }
        put_free(start, size, previous_used);
    }
    void deallocate(void *object, std::size_t /*size*/, std::size_t /*alignment*/) noexcept {
        deallocate(object);
    }

    /// Resizes an object: in place, or, if it has memory of its own, by the source. Null: it is unchanged.
    [[nodiscard]] void *try_resize(void *object, std::size_t /*size*/, std::size_t new_size,
                                   std::size_t alignment) noexcept {
        if (!is_possible(new_size, alignment, overhead)) return nullptr;
        std::byte *const start = static_cast<std::byte *>(object) - tag_size;
        const std::size_t tag = load(start);
        if ((tag & large) != 0) return resize_large(object, new_size, alignment);
        if (is_large(new_size, 1) || padding_at(object, alignment) != 0) return nullptr;
        const std::size_t whole = block_for(new_size);
        std::size_t room = tag & ~Block::flags;
        if (room < whole) {
            std::byte *const next = start + room;
            const std::size_t after = load(next);
            if ((after & used) != 0 || room + (after & ~Block::flags) < whole) return nullptr;
            take_out(block_at(next));
            room += after & ~Block::flags;
        }
        put_used(start, whole, room, tag & previous_used, 0);
        pool_.resized(object, new_size);
        return object;
    }

    /// The usable size of an object yet to be made: `size`, or somewhat more.
    [[nodiscard]] static constexpr std::size_t usable_for(std::size_t size) noexcept {
        return block_for(size) - tag_size;
    }
    /// The minimum usable size of an object.
    static constexpr std::size_t least_usable = 32 - sizeof(std::size_t);

    /// Whether an object gets memory of its own.
    [[nodiscard]] bool is_large(std::size_t size, std::size_t alignment) const noexcept {
        return size > options_.large_object || alignment > options_.large_object;
    }
    // Any thread may call the following for a live object, whatever others do with the heap.

    /// The usable size of an object.
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept {
        const std::size_t tag = load(static_cast<const std::byte *>(object) - tag_size);
        if ((tag & large) != 0) {
            const Large *const own = large_of(object);
            return own->size - lead_for(own->alignment);
        }
        return (tag & ~Block::flags) - tag_size;
    }
    /// Whether an object has memory of its own.
    [[nodiscard]] static bool is_alone(const void *object) noexcept {
        return (load(static_cast<const std::byte *>(object) - tag_size) & large) != 0;
    }
    /// Whether an object is still live, according to its tag: false after it was freed, until the memory is
    /// reused.
    [[nodiscard]] static bool is_live(const void *object) noexcept {
        return (load(static_cast<const std::byte *>(object) - tag_size) & used) != 0;
    }

    /// Calls give(begin, size) for the usable part of free blocks of about `smallest` bytes and more, except
    /// for those unchanged since the last call. The contents of the bytes need not be preserved.
    template <class Give>
    void purge(std::size_t smallest, Give give) noexcept
        requires requires(const Index &index) { index.each(std::size_t{}, [](Block *) {}); }
    {
        free_.each(smallest, [&](Block *block) {
            if ((block->tag & purged) != 0) return;
            block->tag |= purged;
            purged_ += block->size();
            give(static_cast<void *>(block + 1), block->size() - sizeof(Block) - tag_size);
        });
    }

    /// Returns the empty chunk to the source, if there is one. Returns whether there was.
    bool trim() noexcept {
        if (spare_ == nullptr) return false;
        Block *const block = spare_;
        take_out(block);
        release(chunk_of(block));
        return true;
    }

    [[nodiscard]] BestFitStatistics statistics() const noexcept {
        return {.chunks = held_, .free = free_bytes_, .large = large_bytes_, .purged = purged_};
    }

    /// Whether all tags are consistent, and no two free blocks are neighbours. Linear in the number of
    /// blocks: for tests.
    [[nodiscard]] bool check() const noexcept {
        std::size_t found = 0;
        for (const Chunk *chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
            const std::byte *at = reinterpret_cast<const std::byte *>(chunk) + first;
            const std::byte *const end = at + capacity();
            std::size_t before = previous_used;
            while (at < end) {
                const std::size_t tag = load(at);
                const std::size_t size = tag & ~Block::flags;
                const bool is_free = (tag & used) == 0;
                if ((tag & previous_used) != before || size < least || size % granule != 0) return false;
                if (is_free) {
                    if (before == 0 || load(at + size - tag_size) != size) return false;
                    if (!free_.has(reinterpret_cast<const Block *>(at))) return false;
                    found += size;
                }
                before = is_free ? 0 : previous_used;
                at += size;
            }
            if (at != end || load(at) != (used | before)) return false;
        }
        return found == free_bytes_;
    }

  private:
    static constexpr std::size_t tag_size = sizeof(std::size_t);
    // Two links, and the size at both ends.
    static constexpr std::size_t least = 32;
    static_assert(least >= sizeof(Block) + tag_size && least_usable == least - tag_size);

    // The flags in a tag, in addition to the size. The last word of a free block is its size.
    static constexpr std::size_t used = 1;
    static constexpr std::size_t previous_used = 2;
    static constexpr std::size_t large = 4;  // of one that is used
    static constexpr std::size_t purged = 4; // of a free one

    struct Chunk {
        Chunk *next;
        Chunk *previous;
    };
    /// Where the first block begins: the objects are aligned, and the tags are in front of them. The last
    /// word of a chunk is the tag of an empty block that is always in use.
    static constexpr std::size_t first = 32 - tag_size;
    static_assert(first >= sizeof(Chunk));

    /// In front of an object that has memory of its own, and of its tag.
    struct Large {
        Large *next;
        Large *previous;
        std::size_t size; // of the memory
        std::size_t alignment;
        std::size_t tag;
    };
    static_assert(offsetof(Large, tag) + tag_size == sizeof(Large), "the object follows its tag");
    /// More than any request needs in addition to its size and twice its alignment.
    static constexpr std::size_t overhead = 256;

    static constexpr std::size_t source_alignment(std::size_t alignment) noexcept {
        // A source may distinguish an object's own memory from chunks.
        if constexpr (requires { Upstream::large_alignment; })
            return detail::max(alignment, granule, alignof(Large), Upstream::large_alignment);
        else
            return detail::max(alignment, granule, alignof(Large));
    }
    static constexpr std::size_t lead_for(std::size_t alignment) noexcept {
        return round_up(sizeof(Large), detail::max(alignment, granule, alignof(Large)));
    }
    static constexpr BestFitOptions sensible(BestFitOptions options) noexcept {
        options.chunk = detail::max(options.chunk, std::size_t{4096}) / 32 * 32;
        options.large_object = detail::min(options.large_object, options.chunk / 4);
        return options;
    }
    static constexpr std::size_t block_for(std::size_t size) noexcept {
        return detail::max(least, round_up(size + tag_size, granule));
    }

    // A word may have been part of an object of any type before it was a tag, and another thread may read an
    // object's tag meanwhile.
    using Word [[gnu::may_alias]] = std::size_t;
    [[nodiscard]] static std::size_t load(const std::byte *at) noexcept {
        return __atomic_load_n(reinterpret_cast<const Word *>(at), __ATOMIC_RELAXED);
    }
    static void store(std::byte *at, std::size_t word) noexcept {
        __atomic_store_n(reinterpret_cast<Word *>(at), word, __ATOMIC_RELAXED);
    }
    [[nodiscard]] static Block *block_at(std::byte *start) noexcept {
        return reinterpret_cast<Block *>(start);
    }
    [[nodiscard]] static Large *large_of(const void *object) noexcept {
        auto *const at = static_cast<std::byte *>(const_cast<void *>(object));
        return reinterpret_cast<Large *>(at - sizeof(Large));
    }
    [[nodiscard]] static Chunk *chunk_of(Block *first_block) noexcept {
        return reinterpret_cast<Chunk *>(reinterpret_cast<std::byte *>(first_block) - first);
    }

    /// Of the blocks of a chunk.
    [[nodiscard]] std::size_t capacity() const noexcept { return options_.chunk - first - tag_size; }

    template <Failure F>
    [[nodiscard]] void *take(std::size_t size, std::size_t alignment) noexcept(F == Failure::returns_null) {
        if (!is_possible(size, alignment, overhead)) return fail<F>();
        if (is_large(size, alignment)) return take_large<F>(size, alignment);
        const annotate::Quiet quiet;
        void *const object = try_allocate_held(size, alignment);
        if (object != nullptr) return object;
        return add_chunk<F>() ? try_allocate_held(size, alignment) : nullptr;
    }

    /// Takes a block of `whole` bytes out of a free one that has room for it at that alignment.
    void *carve(Block *found, std::size_t whole, std::size_t alignment) noexcept {
        auto *start = reinterpret_cast<std::byte *>(found);
        std::size_t room = found->size();
        const std::size_t was_purged = found->tag & purged;
        take_out(found);
        // The remainder before it must be a block.
        std::size_t padding = padding_at(start + tag_size, detail::max(alignment, granule));
        while (padding > 0 && padding < least) padding += alignment;
        std::size_t before = previous_used;
        if (padding > 0) {
            room -= padding;
            store(start + padding, used); // so that it is not merged with
            put_free(start, padding, previous_used);
            start += padding;
            before = 0;
        }
        put_used(start, whole, room, before, was_purged);
        return start + tag_size;
    }

    /// Makes a block in use of the first `whole` of `room` bytes, or of all if the remainder is too small.
    void put_used(std::byte *start, std::size_t whole, std::size_t room, std::size_t before,
                  std::size_t was_purged) noexcept {
        if (room - whole >= least) {
            put_free(start + whole, room - whole, previous_used | was_purged);
            room = whole;
        }
        store(start, room | used | before);
        store(start + room, load(start + room) | previous_used);
    }
    [[nodiscard]] static bool is_free(const std::byte *start) noexcept { return (load(start) & used) == 0; }

    /// Makes a free block, coalesced with the next one, if that is free. The flags tell whether the previous
    /// one is used, and whether this one is purged.
    void put_free(std::byte *start, std::size_t size, std::size_t flags) noexcept {
        if (std::byte *const next = start + size; is_free(next)) {
            size += block_at(next)->size();
            take_out(block_at(next));
            flags &= ~purged;
        }
        auto *const block = ::new (static_cast<void *>(start)) Block{size | flags};
        if ((flags & purged) != 0) purged_ += size;
        store(start + size - tag_size, size);
        store(start + size, load(start + size) & ~previous_used);
        free_.insert(block);
        free_bytes_ += size;
        if (size != capacity()) return;
        if (spare_ == nullptr) {
            spare_ = block;
        } else {
            take_out(block);
            release(chunk_of(block));
        }
    }
    void take_out(Block *block) noexcept {
        free_.remove(block);
        free_bytes_ -= block->size();
        if ((block->tag & purged) != 0) purged_ -= block->size();
        if (block == spare_) spare_ = nullptr;
    }

    template <Failure F>
    [[nodiscard]] bool add_chunk() noexcept(F == Failure::returns_null) {
        void *const data = obtain<F>(source_, options_.chunk, 16);
        if (data == nullptr) return false;
        auto *const chunk = ::new (data) Chunk{chunks_, nullptr};
        if (chunks_ != nullptr) chunks_->previous = chunk;
        chunks_ = chunk;
        held_ += options_.chunk;
        std::byte *const start = static_cast<std::byte *>(data) + first;
        store(start + capacity(), used);
        put_free(start, capacity(), previous_used);
        return true;
    }
    /// Returns a chunk whose blocks are in no list.
    void release(Chunk *chunk) noexcept {
        if (chunk->next != nullptr) chunk->next->previous = chunk->previous;
        (chunk->previous != nullptr ? chunk->previous->next : chunks_) = chunk->next;
        held_ -= options_.chunk;
        source_.deallocate(chunk, options_.chunk, 16);
    }

    template <Failure F>
    [[nodiscard]] void *take_large(std::size_t size,
                                   std::size_t alignment) noexcept(F == Failure::returns_null) {
        const std::size_t lead = lead_for(alignment);
        const std::size_t whole = round_up(lead + detail::max(size, least_usable), granule);
        auto *const data = static_cast<std::byte *>(obtain<F>(source_, whole, source_alignment(alignment)));
        if (data == nullptr) return nullptr;
        adopt(data, whole, alignment);
        return data + lead;
    }
    void adopt(std::byte *data, std::size_t whole, std::size_t alignment) noexcept {
        auto *const own = ::new (static_cast<void *>(data + lead_for(alignment) - sizeof(Large)))
            Large{large_, nullptr, whole, alignment, large | used};
        if (large_ != nullptr) large_->previous = own;
        large_ = own;
        large_bytes_ += whole;
    }
    /// Unlinks it. Returns the beginning of its memory.
    std::byte *disown(Large *own) noexcept {
        if (own->next != nullptr) own->next->previous = own->previous;
        (own->previous != nullptr ? own->previous->next : large_) = own->next;
        large_bytes_ -= own->size;
        return reinterpret_cast<std::byte *>(own + 1) - lead_for(own->alignment);
    }
    void free_large(Large *own) noexcept {
        const std::size_t size = own->size;
        const std::size_t alignment = source_alignment(own->alignment);
        source_.deallocate(disown(own), size, alignment);
    }
    [[nodiscard]] void *resize_large(void *object, std::size_t size, std::size_t wanted) noexcept {
        if constexpr (ResizingSource<Upstream> && !REAP_MARK_POOLS) { // else the caller copies
            Large *const own = large_of(object);
            const std::size_t alignment = own->alignment;
            const std::size_t before = own->size;
            if (!is_large(size, alignment) || wanted > detail::max(alignment, granule, alignof(Large)))
                return nullptr;
            const std::size_t whole =
                round_up(lead_for(alignment) + detail::max(size, least_usable), granule);
            std::byte *const data = disown(own);
            void *const moved = source_.try_resize(data, before, whole, source_alignment(alignment));
            if (moved == nullptr) {
                adopt(data, before, alignment);
                return nullptr;
            }
            adopt(static_cast<std::byte *>(moved), whole, alignment);
            return static_cast<std::byte *>(moved) + lead_for(alignment);
        }
        return nullptr;
    }

    [[no_unique_address]] HeldCopy<Upstream> source_;
    BestFitOptions options_;
    Index free_;
    Block *spare_ = nullptr; // a free block that is all of a chunk
    Chunk *chunks_ = nullptr;
    Large *large_ = nullptr;
    std::size_t held_ = 0;
    std::size_t free_bytes_ = 0;
    std::size_t purged_ = 0;
    std::size_t large_bytes_ = 0;
    [[no_unique_address]] annotate::Pool<BestFit> pool_{"BestFit"};
};

/// A block that is nearly the smallest, in constant time.
template <Source Upstream = SystemPages, std::size_t Granule = 16>
using GoodFit = BestFit<Upstream, Granule, detail::SizeBins>;

} // namespace reap::inline REAP_MODE
