#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
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
#include "reap/core/link.h"
#include "reap/core/misuse.h"
#include "reap/core/quarantine.h"
#include "reap/core/seal.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/layer/reap/free_blocks.h"
#include "reap/layer/reap/shadow.h"
#include "reap/source/cached_superblocks.h"
#include "reap/source/superblocks.h"

namespace reap::inline REAP_MODE {

/// How a reap takes chunks from its superblocks. Sizes in bytes; chunks have powers of two, from 8 KB to half
/// a superblock.
struct ReapOptions {
    /// The first chunk, which is taken at the first allocation; by a reap that is made without options at
    /// once, if its source has one in a cache.
    std::size_t first_chunk = std::size_t{8} << 10;
    /// Each further chunk is this many times as large as the one before.
    std::size_t growth = 2;
    /// No chunk becomes larger, unless for the sake of one object.
    std::size_t largest_chunk = std::size_t{1} << 20;
    /// Objects that take more than this, or than a quarter of a superblock, get memory of their own from the
    /// source, which goes back there when they are freed. Up to 1 KB (2 KB where the granule is 16) none do.
    std::size_t large_object = std::size_t{256} << 10;
    /// 0: objects lie in the order in which they were made, whatever their sizes, until something is freed.
    /// Else small objects of one size lie side by side, in runs of so many bytes, or 1/512 of what is held if
    /// that is less (256 bytes at least): for who goes through objects of one kind. Checked mode does not do
    /// it.
    std::size_t largest_run = 0;
    /// What the reap may hold at most.
    std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// What a reap holds, in bytes.
struct ReapStatistics {
    std::size_t held = 0;          ///< in chunks and large objects
    std::size_t live = 0;          ///< taken by objects, rounding included
    std::size_t free = 0;          ///< room for objects in chunks in use: never used, freed, left over
    std::size_t largest_hole = 0;  ///< the largest piece of that which is known to be in one
    std::size_t spare = 0;         ///< in chunks that nothing is in, which wait to be used again
    std::size_t chunks = 0;        ///< how many chunks, spare ones included
    std::size_t large_objects = 0; ///< how many objects have memory of their own
};

/// Whether a reap keeps the size of each object, or is told when it is freed.
enum class Sizes { kept, told };

namespace detail {

/// What a reap knows of its memory: what changes while it lives.
struct ReapState {
    struct alignas(16) Chunk {
        Chunk *older;
        std::uint64_t serial; // of the mark that is older
        std::size_t size;
        std::byte
            *left; // up to where objects are, of an older chunk, where sizes are told and nothing was freed
        [[no_unique_address]] CheckedSeal seal{};
        [[nodiscard]] std::uint64_t seal_of() const noexcept {
            return Seal::of(this, older, serial, size, left);
        }
    };
    /// In front of an object that has memory of its own.
    struct Large {
        Large *older;
        Large *newer;
        std::size_t size;      // of the object
        std::size_t alignment; // of the memory; the object's is this one or less
        std::size_t lead;      // from the memory to the object
        std::uint64_t serial;
        [[no_unique_address]] CheckedSeal seal{};
        [[nodiscard]] std::uint64_t seal_of() const noexcept {
            return Seal::of(this, older, newer, size, alignment, lead, serial);
        }
    };
    struct Cleanup {
        void (*run)(Cleanup *self) = nullptr;
        Cleanup *older = nullptr;
        Cleanup *newer = nullptr;
        [[no_unique_address]] CheckedSeal seal{};
        [[nodiscard]] std::uint64_t seal_of() const noexcept { return Seal::of(this, run, older, newer); }
    };
    struct MarkRecord {
        MarkRecord *older;
        std::uint64_t serial;
        std::byte *current;
        std::byte *end;
        Cleanup *cleanups;
        std::size_t free_bytes; // before it
        const void *newest;     // of the ledger
        [[no_unique_address]] CheckedSeal seal{};
        [[nodiscard]] std::uint64_t seal_of() const noexcept {
            return Seal::of(this, older, serial, current, end, cleanups, free_bytes, newest);
        }
    };

    /// What most reaps for one request never need.
    struct Rare {
        std::size_t free_bytes = 0; // beside those that FreeBlocks counts
        std::size_t sweep_at = 0;   // not before so much is held
        bool marked = false;        // see begin_marks()
        Large *large = nullptr;     // the newest
        Cleanup *cleanups = nullptr;
        MarkRecord *marks = nullptr;
    };
    /// Stands at the end of the oldest chunk, which keeps room for it: so there is some when the first object
    /// is freed. In checked and hardened mode in the reap itself, out of the way of what is written behind
    /// objects.
    struct Reserve {
        Rare rare;
        FreeBlocks free;
    };
    static constexpr bool has_own_reserve = checked || hardened;
    /// Room for it, in which nothing is yet.
    union ReserveRoom {
        ReserveRoom() noexcept {} // NOLINT(modernize-use-equals-default): which would be deleted
        Reserve reserve;
    };

    // No more than these: a compiler keeps an object of ten words among a function's own variables in
    // registers, and one of eleven in memory.
    std::byte *current_ = nullptr;
    // Up to where objects are bumped without a look at what is free. The end, while nothing was freed; where
    // what is free is looked at first, the very beginning.
    std::byte *limit_ = nullptr;
    std::byte *shadow_ = nullptr; // of the current chunk's superblock
    FreeBlocks *reuse_ = nullptr; // null: nothing was freed yet, or is not to be used again for a mark's sake
    std::byte *end_ = nullptr;
    // Where the only chunk's objects begin, if a reset need look at nothing else; else null.
    std::byte *alone_ = nullptr;
    Chunk *chunk_ = nullptr; // the newest
    std::size_t held_ = 0;
    Chunk *spare_ = nullptr;
    Rare *rare_ = nullptr; // null: all of it is as in the beginning

    /// Bytes in free blocks.
    [[nodiscard]] std::size_t free_bytes() const noexcept {
        return known().free_bytes + (reuse_ != nullptr ? reuse_->bytes : 0);
    }
    [[nodiscard]] const Rare &known() const noexcept {
        static constexpr Rare nothing{};
        return rare_ != nullptr ? *rare_ : nothing;
    }
};

} // namespace detail

/// A region that can free: objects are freed one by one, or all together, or not at all until the reap ends.
///
/// It is not thread-safe, and can be neither copied nor moved: what it handed out, marks and nested reaps
/// point into it. It does not move objects, so memory may be free in pieces that are too small for what is
/// asked for. It asks its source for superblocks of 2 MB, aligned so; no small Buffer will do. Destructors
/// run at reset() for what was made by create(), the youngest first; for other memory, none are known.
///
/// While nothing is freed, allocation adds to a pointer, as in a region, and says in one byte how large the
/// object is. From the first free on, what was freed is used again: free blocks of the very size, else fresh
/// memory; before a new chunk is taken, neighbours that are free are merged, if a quarter of what is held is
/// free. Sizes are rounded up to Granule (8 or 16), and to 16 at least; every object is aligned to Granule.
/// Larger alignments cost a call.
///
/// allocate() costs some fourteen instructions while there is room, deallocate() the same; the byte takes a
/// sixteenth of memory, which rounding to 8 instead of 16 gives back.
///
/// Memory goes back to the source: of an object over large_object when it is freed; of chunks that merging
/// finds empty, as far as they are more than what is in use; of all others at reset(), as that is told, by
/// trim() and at the end.
///
/// Reaps are Berger's, Zorn's and McKinley's (OOPSLA 2002).
///
/// With Sizes::told (SizedReap) there is no such byte: allocate() is a region's, and takes no more memory.
/// Then objects can be freed with their sizes only, and nobody can be told what is live. Of objects that are
/// larger than large_object, only those get memory of their own that do not happen to fit into the current
/// chunk.
template <Source Upstream = CachedSuperblocks, std::size_t Granule = 8,
          std::size_t Window = window_of<Upstream> != 0 ? window_of<Upstream> : usual_window,
          Sizes S = Sizes::kept>
class Reap : private detail::ReapState {
    static constexpr bool told = S == Sizes::told;
    static_assert(Granule == 16 || (Granule == 8 && !told));
    static_assert(window_of<Upstream> == 0 || window_of<Upstream> == Window);
    // What blocks are multiples of: guards want 16.
    static constexpr std::size_t unit = checked ? 16 : Granule;
    using Shadow = detail::Shadow<Window, unit>;
    using FreeBlocks = detail::FreeBlocks;
    using Block = FreeBlocks::Block;
    /// Where chunks come from: the source itself, if it has superblocks, else superblocks of our own over it.
    using Chunks = std::conditional_t<window_of<Upstream> != 0, Upstream, Superblocks<Upstream, Window>>;

  public:
    /// A place to rewind() to.
    class Mark {
        friend Reap;
        MarkRecord *record_ = nullptr;
        std::uint64_t serial_ = 0;
    };
    /// A reap whose life is inside this one's.
    using Nested = Reap<Shared<Chunks>, Granule, Window, S>;

    /// Checked mode fills what lies before an aligned object.
    static constexpr std::size_t largest_alignment =
        checked ? std::max(Window, std::size_t{2} << 20) : std::size_t{1} << 30;

    // Not defaulted, as Region's. Inline, or a reap among a function's own variables is not kept in
    // registers.
    [[gnu::always_inline]] Reap() noexcept
        requires std::default_initializable<Upstream>
        : options_(&default_options) {
        begin();
    }
    explicit Reap(const ReapOptions &options) noexcept
        requires std::default_initializable<Upstream>
        : own_options_(options) {
        options_ = &own_options_;
    }
    explicit Reap(Upstream source, const ReapOptions &options = {}) noexcept
        requires std::copy_constructible<Upstream>
        : own_options_(options), chunks_(source) {
        options_ = &own_options_;
    }
    Reap(const Reap &) = delete;
    Reap &operator=(const Reap &) = delete;
    [[gnu::always_inline]] ~Reap() {
        constexpr std::size_t usual = ReapOptions{}.first_chunk;
        if (alone_ != nullptr && spare_ == nullptr && chunk_->size == usual) [[likely]] {
            pool_.emptied();
            chunks_.deallocate(chunk_, usual, chunk_alignment);
        } else {
            run_cleanups(nullptr);
            all_came_back();
            out_of_line([](Reap &reap) { return reap.reset_anyhow(keep_none), true; });
        }
    }

    /// Memory for an object; throws what the source throws, else std::bad_alloc. A size of 0 counts as 1.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = Granule) {
        if constexpr (checked) return guarded<Failure::throws>(size, alignment);
        return handed_out(take<Failure::throws>(size, alignment), size);
    }

    /// The same, or null.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded<Failure::returns_null>(size, alignment);
        return handed_out(take<Failure::returns_null>(size, alignment), size);
    }

    /// The same at the usual alignment, if there is a free object of this very size; else null, which says
    /// nothing: try_allocate() may have one. For who mostly finds one, as where there are runs.
    [[nodiscard, gnu::always_inline]] void *try_allocate_from_bin(std::size_t size) noexcept {
        static_assert(unit == 16, "where sizes are one more than the last of the code before");
        const std::size_t over = size - Shadow::first_of_second;
        if (checked || over > Shadow::largest_small - Shadow::first_of_second || reuse_ == nullptr)
            return nullptr;
        const std::size_t code = over / unit;
        return has_free(code) ? handed_out(take_free(code), size) : nullptr;
    }

    /// A free object of one of the next sizes, up to a third larger, at the usual alignment; else null, which
    /// says nothing. It saves memory where sizes vary: the free objects of each size are few, but together
    /// they are many. The object must be freed without its size, or with its usable size.
    [[nodiscard]] void *try_allocate_from_larger_bin(std::size_t size) noexcept
        requires(S == Sizes::kept);

    /// The same, or null, with all the bytes that the object takes anyway. Checked mode hands out what was
    /// asked for, so that it sees the first byte that was not.
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size,
                                                   std::size_t alignment = Granule) noexcept {
        void *const object = annotate::quietly([=, this] { return try_allocate(size, alignment); });
        if (object == nullptr || checked) return {object, object == nullptr ? 0 : size + (size == 0)};
        const auto whole = [=] {
            if constexpr (told)
                return Shadow::block_for(size + (size == 0));
            else
                return usable_size(object);
        }();
        return {handed_out(object, whole), whole};
    }

    /// Frees an object; null is none. Anything else that this reap did not hand out is undefined, as is an
    /// object that is free already; checked mode reports both, hardened mode mostly.
    void deallocate(void *object) noexcept
        requires(S == Sizes::kept)
    {
        if constexpr (checked) return guarded_deallocate(object, guard::any_size);
        if constexpr (hardened) return retire(object, guard::any_size, unit);
        pool_.came_back(object);
        if (Shadow::offset_of(object) == 0) [[unlikely]] // null, and large ones that are aligned to as much
            return free_slowly(object, 0);
        give(object, *Shadow::byte_of(object));
    }

    /// The same, told that it is no large object: not null, and allocated with a size and an alignment that
    /// together are no more than largest_small.
    void deallocate_small(void *object) noexcept {
        if constexpr (checked || hardened || told) {
            deallocate(object);
        } else {
            pool_.came_back(object);
            give(object, *Shadow::byte_of(object));
        }
    }

    /// The same, told the size: what was asked for, or what is usable. It saves a look into memory. A wrong
    /// size is undefined; checked mode reports it, and where sizes are kept hardened mode as well.
    void deallocate(void *object, std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded_deallocate(object, size + (size == 0));
        if constexpr (hardened) return retire(object, size + (size == 0), alignment);
        const std::size_t code = Shadow::code_for(size);
        if (object == nullptr || code > Shadow::last_small || alignment > unit) [[unlikely]] {
            if constexpr (!told) return deallocate(object);
            pool_.came_back(object);
            return free_slowly(object, Shadow::block_for(size + (size == 0)), std::max(alignment, unit));
        }
        pool_.came_back(object);
        give(object, code);
    }

    /// Uninitialized memory for `count` objects of T, aligned for T; freed with the same T and count.
    /// Throws std::bad_array_new_length for more than any array has, else as above.
    template <class T>
    [[nodiscard, gnu::returns_nonnull]] T *allocate(std::size_t count) {
        return reap::allocate<T>(*this, count);
    }
    /// The same, or null.
    template <class T>
    [[nodiscard]] T *try_allocate(std::size_t count) noexcept {
        return reap::try_allocate<T>(*this, count);
    }
    template <class T>
    void deallocate(std::type_identity_t<T> *data, std::size_t count) noexcept {
        reap::deallocate<T>(*this, data, count);
    }

    /// An object with the same contents, as far as they go, of another size: where it stands if it can be,
    /// else another one, and the old one is freed. Null: a new object. Throws as allocate(); then the object
    /// is as it was. `alignment`: no more than that of the old one is kept unless it is asked for here.
    [[nodiscard, gnu::returns_nonnull]] void *reallocate(void *object, std::size_t size,
                                                         std::size_t alignment = Granule)
        requires(S == Sizes::kept)
    {
        return reallocate_as<Failure::throws>(object, size, alignment);
    }
    /// The same, or null.
    [[nodiscard]] void *try_reallocate(void *object, std::size_t size,
                                       std::size_t alignment = Granule) noexcept
        requires(S == Sizes::kept)
    {
        return reallocate_as<Failure::returns_null>(object, size, alignment);
    }

    /// Gives an object another size where it stands, and says whether it could: the one that was allocated
    /// last grows as far as there is room; any shrinks as far as what is cut off can be a block of its own.
    /// What has memory of its own does neither; reallocate() has the source do it, if that can.
    /// Checked mode refuses, so that pointers to what might have moved are found.
    [[nodiscard]] bool resize(void *object, std::size_t size) noexcept
        requires(S == Sizes::kept)
    {
        if constexpr (checked) return guarded_resize(object, size);
        if constexpr (hardened) {
            if (!is_live(object)) return false;
        }
        if (resize_last(object, size)) return resized(object, size);
        const bool large = Shadow::offset_of(object) == 0 || Shadow::size_of(object) == 0;
        return resize_raw(object, size_of_block(object), large, size) && resized(object, size);
    }
    /// The same where sizes are told; the alignment is the one that was asked for.
    [[nodiscard]] bool resize(void *object, std::size_t old_size, std::size_t new_size,
                              std::size_t alignment = Granule) noexcept
        requires(S == Sizes::told)
    {
        if constexpr (checked) return guarded_resize(object, new_size);
        if constexpr (hardened) {
            if (!is_live(object)) return false;
        }
        auto *const at = static_cast<std::byte *>(object);
        // As in bump(): a size of 0 fails.
        const std::size_t new_last = (new_size - 1) & ~(unit - 1);
        if (at + Shadow::block_for(old_size) == current_ && new_last < distance(at, limit_)) [[likely]] {
            current_ = at + new_last + unit;
            return resized(object, new_size);
        }
        const std::size_t whole = Shadow::block_for(old_size + (old_size == 0));
        const bool large = whole + std::max(alignment, unit) - unit > largest_in_chunk() &&
                           chunk_of(object, chunk_) == nullptr;
        return resize_raw(object, whole, large, new_size) && resized(object, new_size);
    }

    /// How many bytes of the object may be used: at least what was asked for.
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept
        requires(S == Sizes::kept)
    {
        if constexpr (checked) return guard::size_of(object);
        return size_of_block(object);
    }

    /// Makes a T. Its destructor runs at destroy(), rewind() or reset(), the youngest object's first; where
    /// it is trivial that costs nothing. Throws as allocate() and as T's constructor; then nothing is left
    /// behind. Where T's allocator_type is one that this reap converts to (StlAllocator), T gets it as its
    /// allocator unless the arguments name one.
    template <class T, class... Arguments>
    [[nodiscard]] T *create(Arguments &&...arguments) {
        using Node = NodeOf<T>;
        void *const data = annotate::quietly([this] { return allocate(sizeof(Node), alignof(Node)); });
        Unfinished<Node> memory{*this, handed_out(data, sizeof(T))};
        auto *const node = ::new (memory.data) Node;
        T *const object = detail::construct<T>(*this, node->storage, std::forward<Arguments>(arguments)...);
        memory.data = nullptr;
        if constexpr (!std::is_trivially_destructible_v<T>) {
            node->cleanup.run = [](Cleanup *self) { WithCleanup<T>::object_of(self)->~T(); };
            link(&node->cleanup);
        }
        return object;
    }

    /// Ends what create() made; null is none.
    template <class T>
    void destroy(T *object) noexcept {
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
            object->~T();
        }
        deallocate(object, sizeof(NodeOf<T>), alignof(NodeOf<T>));
    }

    /// Makes an array of `count` elements, each from the same arguments; without any, value-initialized.
    /// Their destructors run as that of what create() made, the last element's first. Throws
    /// std::bad_array_new_length for more than any array has, and as create(); what was made is destroyed
    /// then.
    template <class T, class... Arguments>
    [[nodiscard]] T *create_array(std::size_t count, Arguments &&...arguments) {
        using ArrayBlock = detail::ArrayBlock<T, Cleanup>;
        const std::size_t bytes = detail::bytes_of_array<T>(count);
        const std::size_t size = ArrayBlock::size(count);
        void *const data = annotate::quietly([=, this] { return allocate(size, ArrayBlock::alignment); });
        detail::Unowned<Reap> memory{*this, handed_out(data, bytes), size, ArrayBlock::alignment};
        T *const first =
            detail::construct_array<T>(*this, data, count, static_cast<const Arguments &>(arguments)...);
        memory.data = nullptr;
        if constexpr (ArrayBlock::has_record) {
            void *const place = ArrayBlock::place_of_record(first, count);
            link(::new (place) typename ArrayBlock::Record(first, count));
        }
        return first;
    }

    /// Destroys and frees what create_array() made with the same count; null is ignored.
    template <class T>
    void destroy_array(T *first, std::size_t count) noexcept {
        using ArrayBlock = detail::ArrayBlock<T, Cleanup>;
        if (first == nullptr) return;
        const std::size_t size = ArrayBlock::size(count);
        if constexpr (checked) {
            if (!check_live(first, size + (size == 0))) return;
        }
        if constexpr (hardened) {
            if (!is_live(first)) return;
        }
        if constexpr (ArrayBlock::has_record) {
            auto *const record = std::launder(
                static_cast<typename ArrayBlock::Record *>(ArrayBlock::place_of_record(first, count)));
            if (!is_linked(record)) return;
            unlink(*rare_, record);
            detail::destroy_elements(first, count);
        }
        deallocate(first, size, ArrayBlock::alignment);
    }

    /// A reap inside this one: it takes its chunks from the same superblocks, and ends when this one is
    /// rewound past this call, reset or destroyed, or by destroy(&nested) earlier.
    [[nodiscard]] Nested &nest(const ReapOptions &options = {}) {
        return *create<Nested>(Shared<Chunks>(chunks_), options);
    }

    /// The place to come back to. Takes some 64 bytes until it is rewound past or reset. As long as there is
    /// a mark, what is freed is not used again: a rewind may come, which keeps what is older and frees what
    /// is newer, and they must not be mixed. A nested reap is the way around.
    [[nodiscard]] Mark mark();

    /// Frees all that was allocated since the mark was taken, destructors run. The mark stays good, marks
    /// taken since are stale. False, and nothing is done, if the mark itself is stale: the reap was rewound
    /// past it or reset, or the mark is another reap's. Checked mode reports that.
    bool rewind(const Mark &mark) noexcept;

    /// Frees all objects, destructors run, and keeps chunks of up to `keep` bytes together to be used again.
    /// Marks are stale.
    void reset(std::size_t keep = keep_all) noexcept {
        if (alone_ != nullptr && keep == keep_all) [[likely]] {
            pool_.emptied();
            current_ = alone_;
        } else {
            run_cleanups(nullptr);
            all_came_back();
            out_of_line([keep](Reap &reap) { return reap.reset_anyhow(keep), true; });
        }
    }

    /// Merges what is free, and gives chunks that nothing is in back to the source, until at most `keep`
    /// bytes of them are left. Costs time in the number of objects. While there is a mark, only spare chunks
    /// are given back.
    void trim(std::size_t keep = keep_none) noexcept {
        out_of_line([keep](Reap &reap) { return reap.trim_anyhow(keep), true; });
    }

    /// Calls use(void *object, std::size_t usable) for each live object, in no promised order. `use` may free
    /// the object it is told of, and must do nothing else to the reap. Objects that create() made and nested
    /// reaps are among them: those end by destroy() alone.
    template <class Use>
    void for_each(Use use)
        requires(S == Sizes::kept);

    /// Whether the address lies in memory of this reap. Costs time in the number of chunks and large objects.
    [[nodiscard]] bool owns(const void *address) const noexcept {
        return chunk_of(address, chunk_) != nullptr || large_of(address) != nullptr;
    }

    /// Costs time in the number of chunks, large objects and holes.
    [[nodiscard]] ReapStatistics statistics() const noexcept;

    /// Calls use(begin, size) for what of each hole of `least` bytes and more need not stay as it is, so that
    /// its pages can go back. trim() beforehand makes holes of what was freed. Checked mode has none, since
    /// it looks at what is free.
    template <class Use>
    void purge(std::size_t least, Use use) noexcept
        requires(S == Sizes::kept);

    /// Looks at all that the reap knows of its memory, and says whether it fits together. In checked mode
    /// also at what stands around objects, and all that is found is reported; there it follows no link of a
    /// record that was written over. Costs time in the number of objects.
    [[nodiscard]] bool check() const noexcept;

    /// Bytes held, in chunks and large objects; and those of freed blocks among them. As statistics(), at
    /// once.
    [[nodiscard]] std::size_t held() const noexcept { return held_; }
    [[nodiscard]] std::size_t freed() const noexcept { return free_bytes(); }

    [[nodiscard]] const ReapOptions &options() const noexcept { return *options_; }
    /// Where the chunks come from.
    [[nodiscard]] const Chunks &source() const noexcept { return chunks_; }

  private:
    template <Source Other, std::size_t OtherGranule, std::size_t OtherWindow>
    friend class OwnedReap;

    static constexpr const char *name = "Reap";
    using Pool = annotate::Pool<Reap>;
    using Silent = typename Pool::Silent;

    // Objects of the current chunk before bins are looked at: a test that the processor cannot foresee, made
    // once for many objects.
    static constexpr std::size_t quantum = 4096;
    static constexpr std::size_t smallest_run = 256;

    static constexpr std::size_t chunk_alignment = 4096;
    static constexpr std::size_t chunk_lead = sizeof(Chunk);
    static constexpr std::size_t reserve = has_own_reserve ? 0 : round_up(sizeof(Reserve), 16);
    static_assert(chunk_lead % 16 == 0);
    // As the shadow's bytes for a large object are to be behind those for its own header.
    static constexpr std::size_t large_lead = 1024;
    static_assert(large_lead % 256 == 0 && sizeof(Large) <= large_lead / 2);

    template <class T>
    struct Plain {
        alignas(T) std::byte storage[sizeof(T)];
    };
    // The object first: its address is the block's.
    template <class T>
    struct WithCleanup {
        alignas(T) std::byte storage[sizeof(T)];
        Cleanup cleanup;
        static T *object_of(Cleanup *cleanup) noexcept {
            return std::launder(reinterpret_cast<T *>(reinterpret_cast<std::byte *>(cleanup) -
                                                      offsetof(WithCleanup, cleanup)));
        }
    };
    template <class T>
    using NodeOf = std::conditional_t<std::is_trivially_destructible_v<T>, Plain<T>, WithCleanup<T>>;
    /// Memory for an object whose constructor may still throw.
    template <class Node>
    struct Unfinished {
        Reap &reap;
        void *data;
        ~Unfinished() {
            if (data != nullptr) reap.deallocate(data, sizeof(Node), alignof(Node));
        }
    };

    static std::size_t distance(const void *from, const void *to) noexcept {
        return reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
    }
    static std::byte *start_of(const Chunk *chunk) noexcept {
        return reinterpret_cast<std::byte *>(const_cast<Chunk *>(chunk)) + chunk_lead;
    }
    /// Of what objects may take.
    static std::byte *end_of(const Chunk *chunk) noexcept {
        return start_of(chunk) + (chunk->size - chunk_lead - (chunk->older == nullptr ? reserve : 0));
    }
    static Large *header_of(void *object) noexcept { return static_cast<Large *>(object) - 1; }
    static std::byte *object_of(Large *large) noexcept { return reinterpret_cast<std::byte *>(large + 1); }

    /// An object, or null, and where the next one begins. Null where the call throws: the exception.
    struct Taken {
        void *object;
        std::byte *next;
    };

    /// The hot path. As in Region, every store to `current_` is here, so that a loop that allocates keeps it
    /// in a register. A size of 0 and one that is no small one fail the comparison with what is small, or
    /// that with the room, which a reap without a chunk fails like one with a full chunk.
    template <Failure F>
    [[gnu::always_inline]] void *take(std::size_t size, std::size_t alignment) {
        Taken got;
        if (!bump(size, alignment, got)) [[unlikely]] {
            got = out_of_line([=](Reap &reap) { return reap.serve<F>(size, alignment); });
            if (F == Failure::throws && got.object == nullptr) [[unlikely]]
                HeldException::rethrow(got.next);
        }
        current_ = got.next;
        // Nothing but a use of both, on every way: for the compiler to keep them in registers from turn to
        // turn. They are multiples of 8.
        if (distance(shadow_, limit_) == 1) __builtin_unreachable();
        return got.object;
    }

    [[gnu::always_inline]] bool bump(std::size_t size, std::size_t alignment, Taken &got) noexcept {
        if constexpr (told)
            return bump_alone(size, alignment, got);
        else
            return bump_and_note(size, alignment, got);
    }

    /// Where sizes are told. As in Region.
    [[gnu::always_inline]] bool bump_alone(std::size_t size, std::size_t alignment, Taken &got) noexcept {
        std::byte *const at = current_;
        if (alignment > unit || !is_alignment(alignment)) [[unlikely]]
            return false;
        const std::size_t last = (size - 1) & ~(unit - 1);
        if (last >= distance(at, limit_)) [[unlikely]] {
            if (reuse_ == nullptr || reuse_->misses == FreeBlocks::in_quantum ||
                last >= Shadow::largest_small)
                return false;
            const std::size_t code = last / unit;
            if (has_free(code)) {
                got = {take_free(code), at};
                return true;
            }
            if (++reuse_->misses >= FreeBlocks::most_misses || last >= distance(at, end_)) return false;
            limit_ = at + last + unit;
        }
        got = {at, at + last + unit};
        return true;
    }

    [[gnu::always_inline]] bool bump_and_note(std::size_t size, std::size_t alignment, Taken &got) noexcept {
        std::byte *const at = current_;
        std::byte *limit = limit_;
        std::byte *const shadow = shadow_;
        if (alignment > unit || !is_alignment(alignment)) [[unlikely]]
            return false;
        std::size_t over = size - Shadow::first_of_second;
        if (over > Shadow::largest_small - Shadow::first_of_second) [[unlikely]] {
            if (size - 1 >= Shadow::first_of_second - 1) return false;
            over = 0;
        }
        // Or what follows would be done once for each of the two ways here.
        if (__builtin_constant_p(size) == 0) asm("" : "+r"(over));
        const std::size_t code = over / unit;
        const std::size_t whole = Shadow::size_for(code);
        const std::size_t next = distance(nullptr, at) + whole; // both may be null
        if (next > distance(nullptr, limit)) [[unlikely]] {
            if (reuse_ == nullptr || reuse_->misses == FreeBlocks::in_quantum) return false;
            // Or the sum above would be taken apart for what is needed here. The assembler may change it.
            std::size_t hidden = code; // NOLINT(misc-const-correctness)
            asm("" : "+r"(hidden));
            if (has_free(hidden)) {
                got = {take_free(hidden), at};
                return true;
            }
            if (++reuse_->misses >= FreeBlocks::most_misses || next > distance(nullptr, end_)) return false;
        }
        *Shadow::byte_at(shadow, at) = static_cast<typename Shadow::Code>(code);
        got = {at, at + whole};
        return true;
    }

    /// Whether a bin has a block. Checked mode does not follow a link to what is none.
    [[gnu::always_inline]] bool has_free(std::size_t code) noexcept {
        Block *&bin = reuse_->bins[code];
        if constexpr (checked) return bin != nullptr && is_sound(bin, Shadow::size_for(code), false);
        if constexpr (hardened) return bin != nullptr && (is_intact(bin, code) || give_up(bin));
        return bin != nullptr;
    }

    /// Whether the first of a bin is free, of that size, and leads on: hardened mode's look.
    [[gnu::always_inline]] bool is_intact(const Block *block, std::size_t code) const noexcept {
        return *Shadow::byte_of(block) == (code | Shadow::is_free) && links_.is_valid(block);
    }

    /// Takes a block off its bin, which has one. To the shadow it was never free, but in hardened mode.
    [[gnu::always_inline]] void *take_free(std::size_t code) noexcept {
        Block *const block = FreeBlocks::pop(links_, reuse_->bins[code]);
        if constexpr (hardened)
            *Shadow::byte_of(block) =
                told ? typename Shadow::Code{} : static_cast<typename Shadow::Code>(code);
        __builtin_prefetch(reuse_->bins[code]);
        reuse_->bytes -= Shadow::size_for(code);
        return block;
    }

    /// Frees a small block, unless the code says otherwise.
    [[gnu::always_inline]] void give(void *object, std::size_t code) noexcept {
        if (code > Shadow::last_small) [[unlikely]]
            return free_slowly(object, 0);
        auto *const block = static_cast<std::byte *>(object);
        const std::size_t whole = Shadow::size_for(code);
        if (block + whole == current_) {
            current_ = block;
            return;
        }
        if (reuse_ == nullptr) [[unlikely]]
            return free_slowly(object, whole);
        FreeBlocks::push(links_, reuse_->bins[code], object);
        reuse_->bytes += whole;
    }

    /// Hardened mode's free: of a small block where all is as it mostly is. The shadow says from now on that
    /// it is free. `size`: what was told, or any_size.
    [[gnu::always_inline]] void retire(void *object, std::size_t size, std::size_t alignment) noexcept {
        if (reuse_ == nullptr || !links_.covers(object) || Shadow::offset_of(object) == 0) [[unlikely]]
            return retire_anyhow(object, size, alignment);
        typename Shadow::Code *const byte = Shadow::byte_of(object);
        const std::size_t asked = told || size != guard::any_size ? Shadow::code_for(size) : *byte;
        const bool is_as_told = told ? *byte == 0 && alignment <= unit : *byte == asked;
        if (!is_as_told || asked > Shadow::last_small ||
            reinterpret_cast<std::uintptr_t>(object) % unit != 0 ||
            distance(current_, object) < distance(current_, end_)) [[unlikely]]
            return retire_anyhow(object, size, alignment);
        *byte = static_cast<typename Shadow::Code>(asked | Shadow::is_free);
        reuse_->bytes += Shadow::size_for(asked);
        keep_back(object);
    }

    /// Puts a block that the shadow says is free into quarantine, and the one that has been there longest
    /// into its bin. While it is there its link leads nowhere, and is looked at afterwards.
    [[gnu::always_inline]] void keep_back(void *block) noexcept {
        links_.template make<Block>(block, nullptr);
        auto *const oldest = static_cast<Block *>(quarantine_.exchange(block));
        if (oldest == nullptr) return;
        const std::size_t code = *Shadow::byte_of(oldest) - std::size_t{Shadow::is_free};
        if (code > Shadow::last_small || !links_.is_last(oldest)) [[unlikely]]
            return report_written(oldest);
        FreeBlocks::push(links_, reuse_->bins[code], oldest);
    }

    /// The same where both sizes are small ones, and the object is the last.
    [[gnu::always_inline]] bool resize_last(void *object, std::size_t size) noexcept {
        if (Shadow::offset_of(object) == 0) return false;
        auto *const block = static_cast<std::byte *>(object);
        typename Shadow::Code *const byte = Shadow::byte_of(block);
        const std::size_t code = Shadow::code_for(size);
        if (*byte > Shadow::last_small || code > Shadow::last_small ||
            block + Shadow::size_for(*byte) != current_ || Shadow::size_for(code) > distance(block, end_))
            return false;
        *byte = static_cast<typename Shadow::Code>(code);
        current_ = block + Shadow::size_for(code);
        return true;
    }

    void free_slowly(void *object, std::size_t whole, std::size_t alignment = unit) noexcept {
        out_of_line([=](Reap &reap) { return reap.free_anyhow(object, whole, alignment), true; });
    }

    /// Whether other threads give objects back to it: layer/owned_reap.h.
    static constexpr bool is_owned = requires(Chunks &chunks) { chunks.take_returned([](void *) {}); };

    /// Has a copy of the reap go through code that is out of line, and takes its state over, as Region does:
    /// so the compiler keeps the state of a reap among a function's own variables in registers. Not that of
    /// one whose source points to what it is part of: that one is in memory anyway.
    template <class Call>
    [[gnu::always_inline]] auto out_of_line(Call call) {
        if constexpr (!has_own_reserve && !is_owned && std::copy_constructible<Chunks>) {
            Detached copy{*this};
            const auto result = call(copy.reap);
            static_cast<ReapState &>(*this) = copy.reap;
            return result;
        } else {
            return call(*this);
        }
    }
    struct Copy {};
    Reap(const Reap &other, Copy /*tag*/) noexcept
        : ReapState(other), options_(other.options_), chunks_(other.chunks_), pool_(Silent()) {}
    union Detached {
        explicit Detached(const Reap &other) noexcept : reap(other, Copy{}) {}
        Detached(const Detached &) = delete;
        Detached &operator=(const Detached &) = delete;
        ~Detached() {}
        Reap reap;
    };

    // What was handed out after a mark is a part of its own, by the mark's record.
    template <class Object>
    [[gnu::always_inline]] Object *handed_out(Object *object, std::size_t size) const noexcept {
        const void *part = &pool_;
        if (REAP_MARK_POOLS && known().marks != nullptr) part = known().marks;
        return Pool::handed_out_of(part, object, size);
    }
    [[gnu::always_inline]] bool resized(const void *object, std::size_t size) const noexcept {
        pool_.came_back(object);
        handed_out(object, size);
        return true;
    }
    void all_came_back() const noexcept {
        if constexpr (REAP_MARK_POOLS) came_back_since(nullptr);
        pool_.emptied();
    }
    void came_back_since(const MarkRecord *mark) const noexcept {
        for (const MarkRecord *record = known().marks; REAP_MARK_POOLS && record != mark;
             record = record->older)
            Pool::end_part(record);
        if (mark != nullptr) Pool::emptied(mark);
    }

    /// Takes the first chunk if the source has one in a cache.
    [[gnu::always_inline]] void begin() noexcept {
        if constexpr (!checked && CachingSource<Chunks>) {
            const Allocation got = chunks_.try_allocate_cached(ReapOptions{}.first_chunk, chunk_alignment);
            if (got.data != nullptr) [[likely]]
                adopt(got);
        }
    }

    /// Where chunks come from, whether or not it is somebody else's.
    [[nodiscard]] auto &chunk_source() noexcept {
        if constexpr (requires { chunks_.get(); })
            return chunks_.get();
        else
            return chunks_;
    }

    template <Failure F, bool Catches = with_exceptions>
    [[gnu::noinline]] Taken serve(std::size_t size, std::size_t alignment) noexcept(Catches);
    template <Failure F>
    void *serve_or_fail(std::size_t size, std::size_t alignment);
    template <Failure F>
    void *serve_block(std::size_t size, std::size_t whole, std::size_t alignment);
    void *find_free(std::size_t whole, std::size_t alignment) noexcept;
    void *take_from_space(std::size_t whole, std::size_t alignment) noexcept;
    void *take_from_hole(std::size_t whole, std::size_t alignment) noexcept;
    void *take_from_bins(std::size_t whole, std::size_t alignment) noexcept;
    bool is_sound(Block *&list, std::size_t whole, bool marked) const noexcept;
    std::byte *find_hole(std::size_t need) noexcept;
    void enter_space(std::byte *start, std::byte *end) noexcept;
    void begin_quantum() noexcept;
    [[nodiscard]] bool has_runs() const noexcept {
        return !checked && !told && options_->largest_run != 0 && known().marks == nullptr;
    }
    void *take_run(std::size_t code) noexcept;
    void put_free(std::byte *block, std::size_t whole) noexcept;
    [[nodiscard]] bool is_sweep_due() const noexcept;
    void sweep() noexcept;
    void forget_free() noexcept;
    template <Failure F>
    bool take_chunk(std::size_t need);
    static Chunk **largest_of(Chunk *&list) noexcept;
    [[gnu::always_inline]] inline void adopt(Allocation got) noexcept;
    [[gnu::always_inline]] inline void enter(Chunk *chunk) noexcept;
    void leave(Chunk *chunk) noexcept;
    template <Failure F>
    void *take_large(std::size_t size, std::size_t alignment);
    void free_large(Large *large) noexcept;

    [[gnu::noinline]] void free_anyhow(void *object, std::size_t whole, std::size_t alignment) noexcept;
    [[nodiscard]] std::size_t largest_in_chunk() const noexcept;
    void note(std::byte *block, std::size_t whole) noexcept;
    void note_in_bin(std::byte *block, std::size_t whole) noexcept;
    void begin_marks() noexcept;
    static void clear_shadow(Chunk *chunk) noexcept;
    /// Whether the shadow says what is free.
    [[nodiscard]] bool is_marked() const noexcept { return !told || known().marked; }
    [[nodiscard]] std::size_t size_at(const std::byte *block, const std::byte *end) const noexcept;
    Rare &rare() noexcept;
    void begin_reuse() noexcept;
    [[gnu::noinline]] void reset_anyhow(std::size_t keep) noexcept;
    [[gnu::noinline]] void trim_anyhow(std::size_t keep) noexcept;
    [[gnu::noinline]] void rewind_anyhow(MarkRecord *record) noexcept;
    void count_free(const void *block, std::size_t whole) noexcept;
    void keep_spare(std::size_t most) noexcept;
    bool resize_raw(void *object, std::size_t whole, bool large, std::size_t size) noexcept;
    template <Failure F>
    [[gnu::always_inline]] void *reallocate_as(void *object, std::size_t size, std::size_t alignment) {
        if constexpr (!checked) {
            if (alignment == Granule && resize_last(object, size)) return resized(object, size), object;
        }
        return reallocate_anyhow<F>(object, size, alignment);
    }
    template <Failure F>
    [[gnu::noinline]] void *reallocate_anyhow(void *object, std::size_t size, std::size_t alignment);
    void *resize_large(void *object, std::size_t size, std::size_t alignment) noexcept;
    static std::size_t size_of_block(const void *block) noexcept {
        const std::size_t small = Shadow::offset_of(block) == 0 ? 0 : Shadow::size_of(block);
        return small != 0 ? small : header_of(const_cast<void *>(block))->size;
    }

    void link(Cleanup *cleanup) noexcept {
        cleanup->older = known().cleanups;
        cleanup->newer = nullptr;
        CheckedSeal::set(*cleanup);
        set_newer(cleanup->older, cleanup);
        rare().cleanups = cleanup;
    }
    static void set_newer(Cleanup *cleanup, Cleanup *newer) noexcept {
        if (cleanup == nullptr || !CheckedSeal::holds(*cleanup)) return; // stays as it is, to be found
        cleanup->newer = newer;
        CheckedSeal::set(*cleanup);
    }
    static void unlink(Rare &rare, Cleanup *cleanup) noexcept;
    /// Whether a cleanup is what create() made it. If not, all cleanups are given up: destructors do not run.
    bool is_linked(const Cleanup *cleanup) noexcept {
        if constexpr (checked) return CheckedSeal::holds(*cleanup) || give_up_cleanups();
        return true;
    }
    /// Back to a mark; null: all. In place and inline: a destructor may come back to this reap, and destroy
    /// what the mark has for the newest that stays.
    [[gnu::always_inline]] void run_cleanups(const MarkRecord *mark) noexcept {
        while (known().cleanups != (mark == nullptr ? nullptr : mark->cleanups)) {
            Cleanup *const cleanup = known().cleanups;
            if (!is_linked(cleanup)) return;
            unlink(*rare_, cleanup);
            cleanup->run(cleanup);
        }
    }

    template <class Use>
    bool walk(const Chunk *chunk, Use use) const;
    bool check_list(Block *block, std::size_t whole, std::size_t &blocks) const noexcept;
    bool report_corruption() const noexcept;
    void mark_bins(typename Shadow::Code free) const noexcept;
    /// While it lives, the shadow says of blocks in bins that they are free.
    struct MarkedBins {
        explicit MarkedBins(const Reap &of) noexcept : reap(of) {
            if (reap.reuse_ != nullptr) reap.mark_bins(Shadow::is_free);
        }
        MarkedBins(const MarkedBins &) = delete;
        MarkedBins &operator=(const MarkedBins &) = delete;
        ~MarkedBins() {
            if (reap.reuse_ != nullptr) reap.mark_bins(0);
        }
        const Reap &reap;
    };
    bool is_free_block(const void *block, std::size_t whole, bool marked) const noexcept;
    bool is_record(const void *block) const noexcept;
    static const Chunk *chunk_of(const void *address, const Chunk *list) noexcept;
    const Large *large_of(const void *address) const noexcept;
    void open_free(const Chunk *chunk) noexcept;

    void retire_anyhow(void *object, std::size_t size, std::size_t alignment) noexcept;
    void retire_large(void *object, std::size_t size) noexcept;
    bool give_up(Block *&list) const noexcept;
    void report_written(const Block *block) const noexcept;
    bool is_live(const void *object) const noexcept;
    static bool end_without_owner(void *object) noexcept;
    bool is_linked_large(const Large *large) const noexcept;
    bool check_quarantine() const noexcept;
    void end_quarantine() noexcept;
    struct HeldBack;

    template <Failure F>
    void *guarded(std::size_t size, std::size_t alignment);
    bool is_in_shadow(const void *object) const noexcept;
    static std::size_t guarded_block(const void *object) noexcept;
    const std::byte *piece_of(const void *address) const noexcept;
    bool check_live(const void *object, std::size_t size) const noexcept;
    void guarded_deallocate(void *object, std::size_t size) noexcept;
    bool guarded_resize(const void *object, std::size_t size) const noexcept;
    [[nodiscard]] bool is_sealed() const noexcept;
    void seal_chunks() noexcept;
    void mend() noexcept;
    bool give_up_cleanups() noexcept;

    /// No two marks of a process have the same number.
    static inline std::atomic<std::uint64_t> marks_taken_{0};

    static constexpr ReapOptions default_options{};
    union {
        ReapOptions own_options_;
    };
    const ReapOptions *options_ = nullptr; // set in a constructor's body, as Region's
    [[no_unique_address]] Chunks chunks_;
    [[no_unique_address]] Ledger ledger_;
    struct Nothing {};
    [[no_unique_address]] std::conditional_t<has_own_reserve, ReserveRoom, Nothing> own_reserve_;
    [[no_unique_address]] Links<Reap> links_;
    [[no_unique_address]] Quarantined<Reap> quarantine_;
    [[no_unique_address]] Pool pool_{name};
};

Reap() -> Reap<>;
Reap(ReapOptions) -> Reap<>;
template <class S>
Reap(S &) -> Reap<Shared<S>>;
template <class S>
Reap(S &, ReapOptions) -> Reap<Shared<S>>;

/// A reap for those who know the sizes of what they free, as containers do: see Reap.
template <Source Upstream = CachedSuperblocks,
          std::size_t Window = window_of<Upstream> != 0 ? window_of<Upstream> : usual_window>
using SizedReap = Reap<Upstream, 16, Window, Sizes::told>;

} // namespace reap::inline REAP_MODE

// What a reap does out of line, by purpose.
#include "reap/layer/reap/chunks.h"   // IWYU pragma: keep
#include "reap/layer/reap/ends.h"     // IWYU pragma: keep
#include "reap/layer/reap/free.h"     // IWYU pragma: keep
#include "reap/layer/reap/guarded.h"  // IWYU pragma: keep
#include "reap/layer/reap/hardened.h" // IWYU pragma: keep
#include "reap/layer/reap/look.h"     // IWYU pragma: keep
#include "reap/layer/reap/resize.h"   // IWYU pragma: keep
#include "reap/layer/reap/serve.h"    // IWYU pragma: keep
