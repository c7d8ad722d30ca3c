// This file is long because it has the whole interface of the class; how it works is in layer/reap/.
#pragma once

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
#include "reap/core/owner.h"
#include "reap/core/quarantine.h"
#include "reap/core/rarely.h"
#include "reap/core/running.h"
#include "reap/core/seal.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/layer/chunked.h"
#include "reap/layer/reap/free_blocks.h"
#include "reap/layer/reap/options.h"
#include "reap/layer/reap/shadow.h"
#include "reap/layer/reap/state.h"
#include "reap/source/cached_superblocks.h"
#include "reap/source/superblocks.h"

namespace reap::inline REAP_MODE {

/// A region that can free single objects: they are freed one by one, all together, or when the reap ends.
///
/// It is not thread-safe, and can be neither copied nor moved: its objects, marks and nested reaps point into
/// it. It does not move objects, so free memory may be fragmented into pieces too small for a request. It
/// takes superblocks of 2 MB, aligned to 2 MB, from its source; a small Buffer does not suffice. reset() runs
/// the destructors of what create() made, the youngest first; other memory has none. Such a destructor may
/// use the reap in any way, as a Region's: also rewind, reset or end it, unless it is an element of an array
/// or the reap is ending already; its object is then gone, and it must touch nothing of it any more.
///
/// While nothing is freed, allocation increments a pointer, as in a region, and stores the object's size in
/// one byte. From the first free on, freed memory is reused: free blocks of exactly the size come first, then
/// fresh memory. Before a new chunk is taken, free neighbours are coalesced, if a quarter of what is held is
/// free. Sizes are rounded up to Granule (8 or 16), and to 16 at least; every object is aligned to Granule.
/// Larger alignments cost a call.
///
/// allocate() costs some fourteen instructions while there is room, deallocate() the same. The byte takes a
/// sixteenth of memory, which rounding to 8 instead of 16 saves again.
///
/// Memory is returned to the source: that of an object over large_object when it is freed; that of chunks
/// which coalescing finds empty, as far as they exceed what is in use; that of all others at reset(), as its
/// argument says, by trim(), and at the end.
///
/// Reaps are Berger's, Zorn's and McKinley's (OOPSLA 2002).
///
/// With Sizes::told (SizedReap) there is no such byte: allocate() is a region's, and takes no more memory.
/// Then only sized deallocation is supported, and live objects cannot be enumerated. Objects larger than
/// large_object get memory of their own only if they do not happen to fit into the current chunk.
template <Source Upstream = CachedSuperblocks, std::size_t Granule = 8,
          std::size_t Window = window_of<Upstream> != 0 ? window_of<Upstream> : usual_window,
          Sizes S = Sizes::kept>
class Reap : private detail::ReapState, public ArrayMembers<Reap<Upstream, Granule, Window, S>> {
    friend ArrayMembers<Reap>;
    // Named here, since clang looks for none of ReapState in a return type where another base is dependent.
    using ReapState::Chunk;
    using ReapState::Large;
    static constexpr bool told = S == Sizes::told;
    static_assert(Granule == 16 || (Granule == 8 && !told));
    static_assert(window_of<Upstream> == 0 || window_of<Upstream> == Window);
    // The unit of block sizes: guards require 16.
    static constexpr std::size_t unit = checked ? 16 : Granule;
    using Shadow = detail::Shadow<Window, unit>;
    using FreeBlocks = detail::FreeBlocks;
    using Block = FreeBlocks::Block;
    using Chunks = ChunksOver<Upstream, Window>;

  public:
    using TypedMembers<Reap>::allocate;
    using TypedMembers<Reap>::try_allocate;
    using TypedMembers<Reap>::deallocate;

    /// A mark to rewind() to.
    using Mark = detail::Mark<Reap, MarkRecord>;
    /// A reap nested in this one.
    using Nested = Reap<Shared<Chunks>, Granule, Window, S>;

    /// Checked mode fills the padding before an aligned object.
    static constexpr std::size_t largest_alignment =
        checked ? detail::max(Window, std::size_t{2} << 20) : std::size_t{1} << 30;

    // Not defaulted, as in Region. Inline, or a local reap is not kept in registers.
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
            disown(chunk_, usual);
            chunks_.deallocate(chunk_, usual, chunk_alignment);
        } else {
            while (known().cleanups != nullptr) (void)run_cleanup();
            all_came_back();
            out_of_line([](Reap &reap) { return reap.reset_slow(keep_none), true; });
        }
    }

    /// Memory for an object; throws what the source throws, otherwise std::bad_alloc. A size of 0 counts as
    /// 1.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = Granule) {
        if constexpr (checked) return guarded<Failure::throws>(size, alignment);
        return handed_out(take<Failure::throws>(size, alignment), size);
    }

    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded<Failure::returns_null>(size, alignment);
        return handed_out(take<Failure::returns_null>(size, alignment), size);
    }

    /// The same at the usual alignment, if there is a free object of exactly this size; otherwise null, which
    /// does not imply exhaustion: try_allocate() may succeed. For callers that usually find one, as where
    /// there are runs.
    [[nodiscard, gnu::always_inline]] void *try_allocate_from_bin(std::size_t size) noexcept
        requires(unit == 16) // there sizes are one more than the last of the code before
    {
        const std::size_t over = size - Shadow::first_of_second;
        if (checked || over > Shadow::largest_small - Shadow::first_of_second || reuse_ == nullptr)
            return nullptr;
        const std::size_t code = over / unit;
        return has_free(code) ? handed_out(take_free(code), size) : nullptr;
    }

    /// A free object of one of the next sizes, up to a third larger, at the usual alignment; otherwise null,
    /// which does not imply exhaustion. It saves memory where sizes vary: the free objects of each size are
    /// few, but together they are many. The object must be freed without its size, or with its usable size.
    [[nodiscard]] void *try_allocate_from_larger_bin(std::size_t size) noexcept
        requires(S == Sizes::kept);

    /// The same, or null, with the object's usable size. Checked mode returns exactly the requested size, so
    /// that it detects the first byte beyond it.
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

    /// Frees an object; null is ignored. Anything else that this reap did not allocate is undefined, as is a
    /// double free; checked mode reports both, hardened mode mostly.
    void deallocate(void *object) noexcept
        requires(S == Sizes::kept)
    {
        if constexpr (checked) return guarded_deallocate(object, guard::any_size);
        if constexpr (hardened) return retire(object, guard::any_size, unit);
        pool_.came_back(object);
        if (Shadow::offset_of(object) == 0) [[unlikely]] // null, and large ones that are aligned to as much
            return free_out_of_line(object, 0);
        give(object, *Shadow::byte_of(object));
    }

    /// The same for an object known not to be large: not null, and allocated with a size and an alignment
    /// that together are at most largest_small. It always goes to its bin, where try_allocate_from_bin()
    /// finds it, even if it is the last one before untouched memory.
    void deallocate_small(void *object) noexcept
        requires(S == Sizes::kept)
    {
        if constexpr (checked || hardened) {
            deallocate(object);
        } else {
            pool_.came_back(object);
            const std::size_t code = *Shadow::byte_of(object);
            if (code > Shadow::last_small) [[unlikely]]
                return free_out_of_line(object, 0);
            put_in_bin(object, code);
        }
    }

    /// Sized deallocation: the size is the requested one, or the usable one. It saves a memory access. A
    /// wrong size is undefined; checked mode reports it, and where sizes are stored hardened mode as well.
    void deallocate(void *object, std::size_t size, std::size_t alignment = Granule) noexcept {
        if constexpr (checked) return guarded_deallocate(object, size + (size == 0));
        if constexpr (hardened) return retire(object, size + (size == 0), alignment);
        const std::size_t code = Shadow::code_for(size);
        if (object == nullptr || code > Shadow::last_small || alignment > unit) [[unlikely]] {
            if constexpr (!told) return deallocate(object);
            pool_.came_back(object);
            return free_out_of_line(object, Shadow::block_for(size + (size == 0)),
                                    detail::max(alignment, unit));
        }
        pool_.came_back(object);
        give(object, code);
    }

    /// Resizes an object, keeping its contents up to the smaller size: in place if possible, otherwise a new
    /// object is allocated and the old one freed. Null allocates a new object. Throws as allocate(); then the
    /// object is unchanged. `alignment`: no stricter alignment of the old object is kept unless it is
    /// requested here.
    [[nodiscard, gnu::returns_nonnull]] void *reallocate(void *object, std::size_t size,
                                                         std::size_t alignment = Granule)
        requires(S == Sizes::kept)
    {
        return reallocate_as<Failure::throws>(object, size, alignment);
    }
    /// The same, but returns null on failure.
    [[nodiscard]] void *try_reallocate(void *object, std::size_t size,
                                       std::size_t alignment = Granule) noexcept
        requires(S == Sizes::kept)
    {
        return reallocate_as<Failure::returns_null>(object, size, alignment);
    }

    /// Resizes an object in place, and returns whether it could. The object that was allocated last grows as
    /// far as there is room; any shrinks as far as the cut-off part can be a block of its own. An object with
    /// memory of its own does neither; reallocate() has the source resize it, if the source can. Checked mode
    /// refuses, so that pointers to what might have moved are found.
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
    /// The same where sizes are told; the alignment is the one that was requested.
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
        const bool large = whole + detail::max(alignment, unit) - unit > largest_in_chunk() &&
                           chunk_of(object, chunk_) == nullptr;
        return resize_raw(object, whole, large, new_size) && resized(object, new_size);
    }

    /// The usable size of the object: at least the requested size.
    [[nodiscard]] static std::size_t usable_size(const void *object) noexcept
        requires(S == Sizes::kept)
    {
        if constexpr (checked) return guard::size_of(object);
        return size_of_block(object);
    }

    /// Makes a T. Its destructor runs at destroy(), rewind() or reset(), the youngest object's first; a
    /// trivial one costs nothing. Throws as allocate() and as T's constructor; then nothing is leaked. If
    /// this reap converts to T's allocator_type (StlAllocator), T gets it as its allocator unless the
    /// arguments name one.
    template <class T, class... Arguments>
    [[nodiscard]] inline T *create(Arguments &&...arguments);

    /// Destroys and frees what create() made; null is ignored.
    template <class T>
    inline void destroy(T *object) noexcept;

    /// Destroys and frees what create_array() made with the same count; null is ignored.
    template <class T>
    inline void destroy_array(T *first, std::size_t count) noexcept;

    /// Makes a reap nested in this one. It takes its chunks from the same superblocks, and ends when this one
    /// is rewound past this call, reset or destroyed, or earlier by destroy(&nested).
    [[nodiscard]] Nested &nest(const ReapOptions &options = {}) {
        return *create<Nested>(Shared<Chunks>(chunks_), options);
    }

    /// A mark to rewind to. Takes some 64 bytes until it is rewound past or reset. While a mark exists, freed
    /// memory is not reused: a rewind keeps what is older and frees what is newer, so the two must not be
    /// mixed. Use a nested reap to avoid this.
    [[nodiscard]] Mark mark();

    /// Frees everything allocated since the mark was taken, and runs the destructors. The mark stays valid;
    /// marks taken since become stale. Returns false, and does nothing, if the mark itself is stale: the reap
    /// was rewound past it or reset, or the mark is another reap's. Checked mode reports that.
    bool rewind(const Mark &mark) noexcept;

    /// Frees all objects, runs their destructors, and keeps chunks of up to `keep` bytes in total for reuse.
    /// Marks become stale.
    void reset(std::size_t keep = keep_all) noexcept {
        if (alone_ != nullptr && keep == keep_all) [[likely]] {
            pool_.emptied();
            current_ = alone_;
        } else {
            while (known().cleanups != nullptr)
                if (!run_cleanup()) [[unlikely]]
                    return;
            all_came_back();
            out_of_line([keep](Reap &reap) { return reap.reset_slow(keep), true; });
        }
    }

    /// Coalesces free memory, and returns empty chunks to the source until at most `keep` bytes of them are
    /// left. Linear in the number of objects. While there is a mark, only spare chunks are returned.
    void trim(std::size_t keep = keep_none) noexcept {
        out_of_line([keep](Reap &reap) { return reap.trim_slow(keep), true; });
    }

    /// Calls use(void *object, std::size_t usable) for each live object, in unspecified order. `use` may free
    /// the object that it is passed, and must do nothing else to the reap. Objects of create() and nested
    /// reaps are included: those must be ended by destroy() only.
    template <class Use>
    void for_each(Use use)
        requires(S == Sizes::kept);

    /// Whether the address lies in memory of this reap. Linear in the number of chunks and large objects.
    [[nodiscard]] bool owns(const void *address) const noexcept {
        return chunk_of(address, chunk_) != nullptr || large_of(address) != nullptr;
    }

    /// Linear in the number of chunks, large objects and holes.
    [[nodiscard]] ReapStatistics statistics() const noexcept;

    /// Calls use(begin, size) for the part of each hole of at least `least` bytes whose contents need not be
    /// preserved, so that its pages can be returned. Call trim() first to turn freed memory into holes.
    /// Checked mode has none, since it verifies free memory.
    template <class Use>
    void purge(std::size_t least, Use use) noexcept
        requires(S == Sizes::kept);

    /// Checks all of the reap's metadata, and returns whether it is consistent. In checked mode also the
    /// guards of objects, and reports everything it finds; there it follows no link of an overwritten record.
    /// Linear in the number of objects.
    [[nodiscard]] bool check() const noexcept;

    /// Bytes held, in chunks and large objects; and those of freed blocks among them. As in statistics(), but
    /// in constant time.
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

    // Objects of the current chunk before bins are tried: an unpredictable branch, taken once for many
    // objects.
    static constexpr std::size_t quantum = 4096;
    static constexpr std::size_t smallest_run = 256;

    static constexpr std::size_t chunk_alignment = 4096;
    static constexpr std::size_t chunk_lead = sizeof(Chunk);
    static constexpr std::size_t reserve = has_own_reserve ? 0 : round_up(sizeof(Reserve), 16);
    static_assert(chunk_lead % 16 == 0);
    // The shadow's bytes for a large object must lie behind those for its own header.
    static constexpr std::size_t large_lead = 1024;
    static_assert(large_lead % 256 == 0 && sizeof(Large) <= large_lead / 2);

    template <class T>
    using NodeOf = detail::NodeOf<T, Cleanup>;
    template <class T>
    using ArrayBlock = detail::ArrayBlock<T, Cleanup>;
    [[nodiscard]] detail::Unowned<Reap> unfinished(void *data, std::size_t size, std::size_t alignment,
                                                   const void * /*object*/) noexcept {
        return {*this, data, size, alignment};
    }
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
    /// Sizes that an object may have.
    static std::byte *end_of(const Chunk *chunk) noexcept {
        return start_of(chunk) + (chunk->size - chunk_lead - (chunk->older == nullptr ? reserve : 0));
    }
    static Large *header_of(void *object) noexcept { return static_cast<Large *>(object) - 1; }
    static std::byte *object_of(Large *large) noexcept { return reinterpret_cast<std::byte *>(large + 1); }

    /// An object, or null, and where the next one begins. If the call throws: null and the exception.
    struct Taken {
        void *object;
        std::byte *next;
    };

    template <Failure F>
    [[gnu::always_inline]] inline void *take(std::size_t size, std::size_t alignment);

    [[gnu::always_inline]] inline void *take_same_hole(std::size_t size, std::size_t alignment) noexcept;

    [[gnu::always_inline]] inline bool bump(std::size_t size, std::size_t alignment, Taken &got) noexcept;

    [[gnu::always_inline]] inline bool bump_alone(std::size_t size, std::size_t alignment,
                                                  Taken &got) noexcept;

    [[gnu::always_inline]] inline bool bump_and_note(std::size_t size, std::size_t alignment,
                                                     Taken &got) noexcept;

    [[gnu::always_inline]] static inline std::byte *about_to_be_written(std::byte *object) noexcept;

    [[gnu::always_inline]] inline bool bump_long(std::size_t size, Taken &got) noexcept;

    [[gnu::always_inline]] inline bool has_free(std::size_t code) noexcept;

    [[gnu::always_inline]] inline bool is_intact(const Block *block, std::size_t code) const noexcept;

    [[gnu::always_inline]] inline void *take_free(std::size_t code) noexcept;

    [[gnu::always_inline]] inline void give(void *object, std::size_t code) noexcept;
    [[gnu::always_inline]] inline void put_in_bin(void *object, std::size_t code) noexcept;

    [[gnu::always_inline]] inline void retire(void *object, std::size_t size, std::size_t alignment) noexcept;

    [[gnu::always_inline]] inline void keep_back(void *block) noexcept;

    [[gnu::always_inline]] inline bool resize_last(void *object, std::size_t size) noexcept;

    void free_out_of_line(void *object, std::size_t whole, std::size_t alignment = unit) noexcept {
        out_of_line([=](Reap &reap) { return reap.free_slow(object, whole, alignment), true; });
    }

    /// Whether other threads return objects to it: layer/owned_reap.h.
    static constexpr bool is_owned = requires(Chunks &chunks) { chunks.take_returned([](void *) {}); };

    /// Passes a copy of the reap through out-of-line code, and then takes over its state, as in Region: so
    /// the compiler keeps the state of a local reap in registers. Not done if the source points to what the
    /// reap is part of: such a reap is in memory anyway.
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
        requires std::copy_constructible<Chunks>
        : ReapState(other), options_(other.options_), chunks_(other.chunks_), pool_(Silent()) {}
    union Detached {
        explicit Detached(const Reap &other) noexcept
            requires std::copy_constructible<Chunks>
            : reap(other, Copy{}) {}
        Detached(const Detached &) = delete;
        Detached &operator=(const Detached &) = delete;
        ~Detached() {}
        Reap reap;
    };

    // What is allocated after a mark is a separate part, identified by the mark's record.
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
        detail::end_parts_since<Pool>(known().marks, mark);
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

    /// Where chunks come from, whether or not it is owned elsewhere.
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
    // Static, so that the address of a reap does not escape.
    [[gnu::noinline]] static void *pop_same_hole(FreeBlocks *reuse, Rare *rare, std::size_t whole) noexcept;
    [[gnu::noinline]] static bool free_long(FreeBlocks *reuse, Rare *rare, std::byte *block,
                                            const std::byte *current, const std::byte *end) noexcept;
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
    [[gnu::always_inline]] inline void adopt(Allocation got) noexcept;
    [[gnu::always_inline]] inline void enter(Chunk *chunk) noexcept;
    void leave(Chunk *chunk) noexcept;
    template <Failure F>
    void *take_large(std::size_t size, std::size_t alignment);
    void free_large(Large *large) noexcept;

    [[gnu::noinline]] void free_slow(void *object, std::size_t whole, std::size_t alignment) noexcept;
    [[nodiscard]] std::size_t largest_in_chunk() const noexcept;
    void note(std::byte *block, std::size_t whole) noexcept;
    void note_in_bin(std::byte *block, std::size_t whole) noexcept;
    void begin_marks() noexcept;
    static void clear_shadow(Chunk *chunk) noexcept;
    /// Whether the shadow marks free blocks.
    [[nodiscard]] bool is_marked() const noexcept { return !told || known().marked; }
    [[nodiscard]] std::size_t size_at(const std::byte *block, const std::byte *end) const noexcept;
    Rare &rare() noexcept;
    void begin_reuse() noexcept;
    [[gnu::noinline]] void reset_slow(std::size_t keep) noexcept;
    [[gnu::noinline]] void trim_slow(std::size_t keep) noexcept;
    [[gnu::noinline]] void rewind_slow(MarkRecord *record) noexcept;
    void count_free(const void *block, std::size_t whole) noexcept;
    void keep_spare(std::size_t most) noexcept;
    bool resize_raw(void *object, std::size_t whole, bool large, std::size_t size) noexcept;
    template <Failure F>
    [[gnu::always_inline]] void *reallocate_as(void *object, std::size_t size, std::size_t alignment) {
        if constexpr (!checked) {
            if (alignment == Granule && resize_last(object, size)) return resized(object, size), object;
        }
        return reallocate_slow<F>(object, size, alignment);
    }
    template <Failure F>
    [[gnu::noinline]] void *reallocate_slow(void *object, std::size_t size, std::size_t alignment);
    void *resize_large(void *object, std::size_t size, std::size_t alignment) noexcept
        requires ResizingSource<Chunks>;
    static std::size_t size_of_block(const void *block) noexcept {
        const std::size_t small = Shadow::offset_of(block) == 0 ? 0 : Shadow::size_of(block);
        return small != 0 ? small : header_of(const_cast<void *>(block))->size;
    }

    inline void link(Cleanup *cleanup, const void *block) noexcept;
    static inline void set_newer(Cleanup *cleanup, Cleanup *newer) noexcept;
    static void unlink(Rare &rare, Cleanup *cleanup) noexcept;
    inline bool is_linked(const Cleanup *cleanup) noexcept;
    [[gnu::always_inline]] inline bool run_cleanup() noexcept;

    template <class Use>
    bool walk(const Chunk *chunk, Use use) const;
    bool check_list(Block *block, std::size_t whole, std::size_t &blocks) const noexcept;
    bool report_corruption() const noexcept;
    void mark_bins(typename Shadow::Code free) const noexcept;
    /// While it exists, the shadow marks blocks in bins as free.
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

    void retire_slow(void *object, std::size_t size, std::size_t alignment) noexcept;
    void retire_large(void *object, std::size_t size) noexcept;
    bool give_up(Block *&list) const noexcept;
    void report_written(const Block *block) const noexcept;
    bool is_live(const void *object) const noexcept;
    /// Whether superblocks name the owner of a chunk: in hardened mode, unless another class does it.
    static constexpr bool has_owner_words = hardened && !is_owned;
    static inline OwnerWord *owner_word(const void *address) noexcept;
    static inline const OwnerRecord &owner_of(const void *object) noexcept;
    /// Hardened mode: whether owner_of() may be read.
    [[gnu::always_inline]] bool has_owner(const void *object) const noexcept
        requires hardened // the record of windows takes 16 MB of address space
    {
        return links_.covers(object) && recorded_windows<Window>.has(static_cast<const std::byte *>(object) -
                                                                     (Shadow::offset_of(object) == 0));
    }
    [[gnu::always_inline]] inline bool is_mine(const void *object) const noexcept;
    [[gnu::always_inline]] inline void own(const void *chunk, std::size_t size) const noexcept;
    [[gnu::always_inline]] static inline void disown(const void *chunk, std::size_t size) noexcept;
    void own(Large *large) const noexcept;
    static void disown(Large *large) noexcept;
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
    bool give_up_cleanups(Misuse why, const void *where) noexcept;

    static constexpr ReapOptions default_options{};
    union {
        ReapOptions own_options_;
    };
    const ReapOptions *options_ = nullptr; // set in a constructor's body, as Region's
    [[no_unique_address]] HeldCopy<Chunks> chunks_;
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

/// A reap for callers that know the sizes of what they free, as containers do: see Reap.
template <Source Upstream = CachedSuperblocks,
          std::size_t Window = window_of<Upstream> != 0 ? window_of<Upstream> : usual_window>
using SizedReap = Reap<Upstream, 16, Window, Sizes::told>;

} // namespace reap::inline REAP_MODE

// The out-of-line parts of a reap, by purpose.
#include "reap/layer/reap/bins.h"     // IWYU pragma: keep
#include "reap/layer/reap/bump.h"     // IWYU pragma: keep
#include "reap/layer/reap/chunks.h"   // IWYU pragma: keep
#include "reap/layer/reap/cleanups.h" // IWYU pragma: keep
#include "reap/layer/reap/ends.h"     // IWYU pragma: keep
#include "reap/layer/reap/free.h"     // IWYU pragma: keep
#include "reap/layer/reap/guarded.h"  // IWYU pragma: keep
#include "reap/layer/reap/hardened.h" // IWYU pragma: keep
#include "reap/layer/reap/look.h"     // IWYU pragma: keep
#include "reap/layer/reap/owners.h"   // IWYU pragma: keep
#include "reap/layer/reap/resize.h"   // IWYU pragma: keep
#include "reap/layer/reap/serve.h"    // IWYU pragma: keep

// Behind them all: it instantiates them.
#include "reap/layer/reap/prebuilt.h" // IWYU pragma: keep
