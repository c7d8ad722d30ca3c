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
#include "reap/core/quarantine.h"
#include "reap/core/secret.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

/// How a pool of blocks takes chunks from its source. Sizes in bytes, rounded up to whole slabs.
struct FixedBlockOptions {
    /// The first chunk, which is taken at the first allocation.
    std::size_t first_chunk = std::size_t{8} << 10;
    /// Each further chunk is this many times as large as the one before.
    std::size_t growth = 2;
    /// Maximum size of a chunk.
    std::size_t largest_chunk = std::size_t{1} << 20;
    /// Maximum that the pool may hold of its source.
    std::size_t limit = std::numeric_limits<std::size_t>::max();
};

/// What a pool of blocks holds.
struct FixedBlockStatistics {
    std::size_t held = 0;   ///< bytes taken from the source
    std::size_t spare = 0;  ///< bytes in chunks that were kept at a reset for reuse
    std::size_t chunks = 0; ///< number of chunks, spare ones included
    std::size_t live = 0;   ///< number of allocated blocks
};

/// The default alignment of blocks of a size: that of malloc, or the largest that divides the size.
[[nodiscard]] constexpr std::size_t natural_alignment(std::size_t size) noexcept {
    return detail::min(size & (0 - size), alignof(std::max_align_t));
}

/// Blocks of one size, freed one by one or all together.
///
/// It returns no memory to its source before reset(), serves one size only, and is not thread-safe
/// (PerThread, Locked). It can be neither copied nor moved. It is a Source for everything that fits into a
/// block.
///
/// Free blocks are not linked through their memory. The last 64 freed are in an array in this object, the
/// magazine, and are the first to be reused, since their memory is in the cache. When the magazine is full,
/// its older half is recorded in bitmaps, one at the head of each slab (4 KB for blocks up to 256 B,
/// otherwise at least 16 blocks). When it is empty, it is refilled from one bitmap, and a completely free
/// slab is bumped through like a fresh one. Freeing touches no block, and blocks are allocated in address
/// order again afterwards, in whatever order they were freed. A list through the blocks would be followed in
/// the order of the frees, which after a mass free in random order costs a cache miss per block.
///
/// allocate() and deallocate() cost some seven instructions; every 32nd or so has more to do. This object is
/// about 700 bytes large. Each slab takes 48 bytes and a bit per block. Slabs, magazines: Bonwick, USENIX
/// 1994 and 2001.
template <Source Upstream = CachedPages>
class FixedBlock {
  public:
    /// Throws std::invalid_argument unless the size is a multiple of the alignment and of sizeof(void *), not
    /// 0 and at most 64 MB, and the alignment a power of two. The default alignment is the largest that
    /// divides the size, up to that of malloc.
    explicit FixedBlock(std::size_t block_size = 64, const FixedBlockOptions &options = {})
        requires std::default_initializable<Upstream>
        : FixedBlock(block_size, natural_alignment(block_size), options) {}
    FixedBlock(std::size_t block_size, std::size_t alignment, const FixedBlockOptions &options = {})
        requires std::default_initializable<Upstream>
        : block_size_(block_size), alignment_(alignment), options_(options) {
        start();
    }
    explicit FixedBlock(Upstream source, std::size_t block_size = 64, const FixedBlockOptions &options = {})
        requires std::copy_constructible<Upstream>
        : FixedBlock(source, block_size, natural_alignment(block_size), options) {}
    FixedBlock(Upstream source, std::size_t block_size, std::size_t alignment,
               const FixedBlockOptions &options = {})
        requires std::copy_constructible<Upstream>
        : block_size_(block_size), alignment_(alignment), source_(source), options_(options) {
        start();
    }
    FixedBlock(const FixedBlock &) = delete;
    FixedBlock &operator=(const FixedBlock &) = delete;
    ~FixedBlock() { reset(keep_none); }

    /// A block; throws what the source throws, otherwise std::bad_alloc.
    [[nodiscard, gnu::returns_nonnull]] void *allocate() {
        if constexpr (checked) return guarded<Failure::throws>(block_size_);
        return pool_.handed_out(serve([this] { return refill<Failure::throws>(); }), block_size_);
    }

    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate() noexcept {
        if constexpr (checked) return guarded<Failure::returns_null>(block_size_);
        return pool_.handed_out(serve([this] { return refill<Failure::returns_null>(); }), block_size_);
    }

    /// Frees a block.
    void deallocate(void *block) noexcept {
        if constexpr (checked) return guarded_deallocate(block, guard::any_size);
        if (block == nullptr) return;
        if constexpr (hardened) return retire(block, name);
        annotate::ended(block, block_size_);
        pool_.came_back(block);
        put(block);
    }

    /// A block for an object, as the Source concept requires; fails for more than a block, or a stricter
    /// alignment.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment) {
        if (!fits(size, alignment)) [[unlikely]]
            throw_bad_alloc();
        if constexpr (checked) return guarded<Failure::throws>(size);
        return pool_.handed_out(annotate::quietly([this] { return allocate(); }), size);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (!fits(size, alignment)) [[unlikely]]
            return nullptr;
        if constexpr (checked) return guarded<Failure::returns_null>(size);
        return pool_.handed_out(annotate::quietly([this] { return try_allocate(); }), size);
    }
    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        return {fits(size, alignment) ? try_allocate() : nullptr, block_size_};
    }
    void deallocate(void *block, std::size_t size, std::size_t /*alignment*/) noexcept {
        if constexpr (checked) return guarded_deallocate(block, size);
        if constexpr (hardened) {
            if (block != nullptr && size > block_size_) [[unlikely]]
                return report_misuse({Misuse::wrong_size, block, block_size_, name});
        }
        deallocate(block);
    }

    /// Frees all blocks, and keeps chunks of up to `keep` bytes in total for reuse.
    void reset(std::size_t keep = keep_all) noexcept;

    [[nodiscard]] std::size_t block_size() const noexcept { return block_size_; }
    [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }

    /// Whether the address lies in a chunk of this pool. Linear in the number of chunks.
    [[nodiscard]] bool owns(const void *address) const noexcept;

    /// Linear in the number of chunks, and of slabs with free blocks.
    [[nodiscard]] FixedBlockStatistics statistics() const noexcept;
    [[nodiscard]] const FixedBlockOptions &options() const noexcept { return options_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  protected:
    /// A block from the magazine or the run; if there is none, the result of `otherwise`. The hot path.
    template <class Otherwise>
    [[gnu::always_inline]] void *take(Otherwise otherwise) {
        if (top_ != magazine_) [[likely]]
            return *--top_;
        if (run_ != run_end_) [[likely]]
            return std::exchange(run_, run_ + stride_);
        return otherwise();
    }
    [[gnu::always_inline]] void put(void *block) noexcept {
        if (top_ == magazine_ + magazine_size) [[unlikely]]
            return spill(block);
        *top_++ = block;
    }
    template <Failure F>
    [[gnu::noinline]] void *refill() noexcept(F == Failure::returns_null);

    /// The same as take(); hardened mode records that the block is allocated, and checks what was free.
    template <class Otherwise>
    [[gnu::always_inline]] void *serve(Otherwise otherwise) {
        if constexpr (hardened) return serve_hardened(otherwise);
        return take(otherwise);
    }
    template <class Otherwise>
    void *serve_hardened(Otherwise otherwise);
    /// Hardened mode's free. A report names `layer`.
    void retire(void *block, const char *layer) noexcept;
    /// The same for an address that is known to be in a slab of this pool.
    void retire_held(void *block, const char *layer) noexcept;
    /// Hardened mode: whether a pool of this home made the slab that the address would be in, for any
    /// readable address.
    static bool is_sealed(const void *address, std::size_t slab_size, const void *home) noexcept;
    /// Whether it is in a slab of this pool: in hardened mode.
    [[nodiscard]] bool holds(const void *address) const noexcept {
        return links_.covers(address) && owner_by(address, slab_size_) == this &&
               is_sealed(address, slab_size_, home());
    }
    /// Hardened mode: from the first block on, blocks are freed through what this pool is a part of.
    void belong_to([[maybe_unused]] const void *home) noexcept {
        if constexpr (hardened) home_.of = home;
    }

    /// The pool of this block: in plain mode, for a block of any pool with such slabs.
    static FixedBlock *owner_of(void *block, std::size_t slab_size) noexcept {
        return slab_of(block, slab_size)->owner;
    }
    [[nodiscard]] std::size_t slab_size() const noexcept { return slab_size_; }
    [[nodiscard]] const Links<FixedBlock> &links() const noexcept { return links_; }
    /// Whether the address could have been allocated.
    [[nodiscard]] bool is_block(const void *address) const noexcept;

  private:
    template <Source Other, std::size_t... List>
    friend class SizeClassAllocator;

    static constexpr const char *name = "FixedBlock";
    static constexpr std::size_t magazine_size = 64;
    static constexpr std::size_t largest_block = std::size_t{64} << 20;

    /// In front of the blocks of a slab; the bitmap of its free blocks follows. Blocks in the magazine, and
    /// those of the run, count as allocated here. Hardened mode has a second bitmap behind it, of the blocks
    /// that are actually allocated.
    struct Slab {
        Slab *next = nullptr; // with free blocks; a link of links_
        FixedBlock *owner;
        std::size_t free = 0;  // how many
        Slab *older = nullptr; // of the first slab of a chunk: the chunk before this one
        std::size_t size = 0;  // of the first slab of a chunk: all of the chunk
        struct NoSecret {
            static void set(const Slab & /*slab*/, const void * /*home*/) noexcept {}
            static void clear() noexcept {}
        };
        struct WithSecret {
            static std::uint64_t word_for(const Slab *slab, const void *owner, const void *home) noexcept {
                const auto turned = [](const void *layer, int bits) {
                    return std::rotl(std::uint64_t{reinterpret_cast<std::uintptr_t>(layer)}, bits);
                };
                return turned(slab, 0) ^ turned(owner, 16) ^ turned(home, 32) ^ Secret::of_process();
            }
            void set(const Slab &slab, const void *home) noexcept {
                word = word_for(&slab, slab.owner, home);
            }
            void clear() noexcept { word = 0; }
            std::uint64_t word = 0;
        };
        [[no_unique_address]] std::conditional_t<hardened, WithSecret, NoSecret> seal{};
        [[nodiscard]] std::uint64_t *bitmap() noexcept { return reinterpret_cast<std::uint64_t *>(this + 1); }
    };

    /// The contents of a block while it is in quarantine, or was when it last left it.
    struct Kept {
        Kept *next;
    };
    /// Where it is recorded whether a block is allocated. Returns false if no block begins there.
    struct Place {
        std::uint64_t *word;
        std::uint64_t bit;
    };
    /// What a block is freed through: this pool, or what it is a part of.
    struct Home {
        const void *of = nullptr;
    };
    struct NoHome {};
    [[nodiscard]] const void *home() const noexcept {
        if constexpr (hardened) {
            if (home_.of != nullptr) return home_.of;
        }
        return this;
    }
    /// Hardened mode: the pool that the address is of, if it has slabs of this size and is no part of others.
    [[nodiscard]] const void *pool_of(const void *address) const noexcept;
    /// The owner of the slab that the address would be in, for any readable address.
    static const FixedBlock *owner_by(const void *address, std::size_t slab_size) noexcept;
    bool find_place(void *address, Place &place) const noexcept;
    bool is_untouched(const void *block) const noexcept;
    void end_hardened(bool keeps_chunks) noexcept;

    static Slab *slab_of(void *block, std::size_t slab_size) noexcept {
        auto *const at = static_cast<std::byte *>(block);
        return reinterpret_cast<Slab *>(at - (reinterpret_cast<std::uintptr_t>(at) & (slab_size - 1)));
    }
    std::byte *blocks_of(Slab *slab) const noexcept { return reinterpret_cast<std::byte *>(slab) + lead_; }
    std::byte *end_of(Slab *slab) const noexcept { return blocks_of(slab) + capacity_ * stride_; }
    [[nodiscard]] std::size_t words() const noexcept { return (capacity_ + 63) / 64; }
    [[nodiscard]] std::size_t bitmap_size() const noexcept { return words() * sizeof(std::uint64_t); }
    [[nodiscard]] bool fits(std::size_t size, std::size_t alignment) const noexcept {
        return size <= block_size_ && is_alignment(alignment) && alignment <= alignment_;
    }

    void start();
    [[gnu::noinline]] void spill(void *block) noexcept;
    void restock(Slab *slab) noexcept;
    void carve() noexcept;
    template <Failure F>
    bool take_chunk();
    void enter(Slab *chunk) noexcept;
    void leave(Slab *chunk) noexcept;

    template <class Visit>
    void each_slab(Slab *chunk, Visit visit) noexcept;
    template <Failure F>
    void *guarded(std::size_t size);
    void guarded_deallocate(void *object, std::size_t size) noexcept;
    void open_free_blocks() noexcept;

    // What the hot path needs comes first.
    void **top_ = magazine_;
    std::byte *run_ = nullptr; // blocks that are bumped through
    std::byte *run_end_ = nullptr;
    std::size_t stride_ = 0;    // from block to block
    Slab *available_ = nullptr; // has free blocks, as do those behind it
    std::size_t slab_size_ = 0;
    std::size_t lead_ = 0;       // from a slab to its first block
    std::size_t capacity_ = 0;   // blocks in a slab
    std::uint32_t inverse_ = 0;  // of the stride: a multiplication in place of a division
    std::byte *carve_ = nullptr; // the rest of the current chunk
    std::byte *carve_end_ = nullptr;
    Slab *chunk_ = nullptr; // the current one; older ones behind it
    Slab *spare_ = nullptr; // chunks kept for reuse
    std::size_t slabs_ = 0; // in use
    std::size_t held_ = 0;
    std::size_t next_chunk_ = 0;
    std::size_t block_size_;
    std::size_t alignment_;
    [[no_unique_address]] HeldCopy<Upstream> source_;
    FixedBlockOptions options_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] Links<FixedBlock> links_;
    [[no_unique_address]] Quarantined<FixedBlock> quarantine_;
    [[no_unique_address]] std::conditional_t<hardened, Home, NoHome> home_;
    [[no_unique_address]] annotate::Pool<FixedBlock> pool_{name};
    void *magazine_[magazine_size];
};

FixedBlock(std::size_t) -> FixedBlock<>;
FixedBlock(std::size_t, FixedBlockOptions) -> FixedBlock<>;
FixedBlock(std::size_t, std::size_t) -> FixedBlock<>;
FixedBlock(std::size_t, std::size_t, FixedBlockOptions) -> FixedBlock<>;
template <Source S, class... Arguments>
FixedBlock(S &, Arguments...) -> FixedBlock<Shared<S>>;
// Where the arguments are the constructors' own types, their own guides would precede the one above.
template <Source S>
FixedBlock(S &, std::size_t) -> FixedBlock<Shared<S>>;
template <Source S>
FixedBlock(S &, std::size_t, FixedBlockOptions) -> FixedBlock<Shared<S>>;
template <Source S>
FixedBlock(S &, std::size_t, std::size_t) -> FixedBlock<Shared<S>>;
template <Source S>
FixedBlock(S &, std::size_t, std::size_t, FixedBlockOptions) -> FixedBlock<Shared<S>>;

// The slow paths.

template <Source Upstream>
void FixedBlock<Upstream>::start() {
    if (!is_alignment(alignment_) || block_size_ == 0 || block_size_ % sizeof(void *) != 0 ||
        block_size_ % alignment_ != 0)
        throw_invalid("reap::FixedBlock: the block size must be a multiple of sizeof(void *) and of the "
                      "alignment, which must be a power of two; round the size up");
    if (block_size_ > largest_block)
        throw_invalid("reap::FixedBlock: the block size is above 64 MB; ask a source of pages for these");
    alignment_ = detail::max(alignment_, alignof(void *));
    const std::size_t raw_alignment =
        checked ? detail::max(alignment_, alignof(std::max_align_t)) : alignment_;
    stride_ = checked ? round_up(guard::padded(block_size_, alignment_), raw_alignment) : block_size_;
    slab_size_ = detail::max(std::size_t{4096}, std::bit_ceil(16 * stride_));
    const std::size_t bitmap = (slab_size_ / stride_ + 63) / 64 * sizeof(std::uint64_t) * (hardened ? 2 : 1);
    lead_ = round_up(sizeof(Slab) + bitmap, raw_alignment);
    capacity_ = (slab_size_ - lead_) / stride_;
    inverse_ = static_cast<std::uint32_t>((std::uint64_t{1} << 32U) / stride_ + 1);
    next_chunk_ = options_.first_chunk;
}

/// Makes blocks available, and takes one.
template <Source Upstream>
template <Failure F>
void *FixedBlock<Upstream>::refill() noexcept(F == Failure::returns_null) {
    if (available_ != nullptr) {
        restock(available_);
    } else {
        if constexpr (hardened) {
            // Better a block from the quarantine than none.
            if (carve_ == carve_end_ && quarantine_.size() > 0 && !take_chunk<Failure::returns_null>()) {
                quarantine_.drain([this](void *block) { put(block); });
                return take([] { return nullptr; });
            }
        }
        if (carve_ == carve_end_ && !take_chunk<F>()) return nullptr;
        carve();
    }
    return take([] { return nullptr; });
}

/// Takes the free blocks of a slab, the first on the list: all as a run, or those of one word of its bitmap
/// into the magazine, the lowest address on top.
template <Source Upstream>
void FixedBlock<Upstream>::restock(Slab *slab) noexcept {
    std::uint64_t *word = slab->bitmap();
    if (slab->free == capacity_) {
        std::memset(word, 0, bitmap_size());
        slab->free = 0;
        run_ = blocks_of(slab);
        run_end_ = end_of(slab);
    } else {
        std::size_t first = 0;
        for (; *word == 0; ++word) first += 64;
        std::byte *const base = blocks_of(slab) + first * stride_;
        for (std::uint64_t bits = std::exchange(*word, 0); bits != 0;) {
            const auto highest = static_cast<unsigned>(63 - std::countl_zero(bits));
            bits ^= std::uint64_t{1} << highest;
            *top_++ = base + highest * stride_;
            --slab->free;
        }
    }
    if (slab->free == 0) {
        if constexpr (hardened) {
            if (!links_.is_valid(slab)) report_misuse({Misuse::corruption, slab, 0, name});
        }
        available_ = links_.next(slab);
        // Prefetches the start of the next one: the CPU prefetches the rest of a slab by itself once it
        // detects a sequence of lines, but not across pages. Saves a quarter of the time of warm allocation.
        constexpr int lines = 4;
        for (int line = 0; line < lines && available_ != nullptr; ++line)
            __builtin_prefetch(reinterpret_cast<std::byte *>(available_) + std::ptrdiff_t{64} * line, 1);
    }
}

/// Puts a block into the full magazine: the older half is written into the bitmaps.
template <Source Upstream>
void FixedBlock<Upstream>::spill(void *block) noexcept {
    void **const half = magazine_ + magazine_size / 2;
    for (void **at = magazine_; at != half;) {
        Slab *const slab = slab_of(*at, slab_size_);
        if (slab->free == 0) {
            links_.set_next(slab, available_);
            available_ = slab;
        }
        // Blocks that were freed together are often neighbours.
        do {
            const auto offset = static_cast<std::size_t>(static_cast<std::byte *>(*at) - blocks_of(slab));
            // The division by the stride is exact: the offset is a multiple of it, and below 2^32.
            const std::size_t number = offset * inverse_ >> 32U;
            slab->bitmap()[number / 64] |= std::uint64_t{1} << number % 64;
            ++slab->free;
            ++at;
        } while (at != half && slab_of(*at, slab_size_) == slab);
    }
    std::memmove(static_cast<void *>(magazine_), static_cast<const void *>(half),
                 static_cast<std::size_t>(top_ - half) * sizeof *half);
    top_ = magazine_ + (top_ - half);
    *top_++ = block;
}

/// Makes the next slab of the current chunk the run.
template <Source Upstream>
void FixedBlock<Upstream>::carve() noexcept {
    Slab *slab = chunk_;
    if (carve_ == reinterpret_cast<std::byte *>(chunk_)) {
        slab->next = nullptr;
        slab->free = 0;
    } else {
        slab = ::new (carve_) Slab{.owner = this};
    }
    slab->seal.set(*slab, home());
    std::memset(slab->bitmap(), 0, bitmap_size() * (hardened ? 2 : 1));
    carve_ += slab_size_;
    ++slabs_;
    run_ = blocks_of(slab);
    run_end_ = end_of(slab);
}

/// Takes a chunk that was kept at a reset, or one from the source, and makes it the current one.
template <Source Upstream>
template <Failure F>
bool FixedBlock<Upstream>::take_chunk() {
    const annotate::Quiet quiet;
    if (spare_ != nullptr) {
        enter(std::exchange(spare_, spare_->older));
        return true;
    }
    const std::size_t least = slab_size_;
    const std::size_t allowed = options_.limit - detail::min(options_.limit, held_);
    if (least > allowed) return fail<F>() != nullptr;
    const std::size_t usual = detail::min(next_chunk_, max_object / 4);
    const std::size_t wanted =
        detail::min(round_up(detail::max(usual, least), least), allowed & ~(least - 1));
    std::size_t size = wanted;
    void *data = nullptr;
    if (wanted > least) data = obtain<Failure::returns_null>(source_, wanted, slab_size_);
    if (data == nullptr) {
        // A source that cannot supply the usual size may still supply the needed one.
        size = least;
        data = obtain<F>(source_, least, slab_size_);
        if (data == nullptr) return false;
    }

    held_ += size;
    links_.cover(data, size);
    const std::size_t growth = detail::max(options_.growth, std::size_t{1});
    next_chunk_ =
        next_chunk_ > options_.largest_chunk / growth ? options_.largest_chunk : next_chunk_ * growth;
    auto *const chunk = ::new (data) Slab{.owner = this, .size = size};
    if constexpr (checked) {
        each_slab(chunk, [this](std::byte *blocks) {
            guard::close(blocks, capacity_ * stride_, guard::Fill::fresh);
        });
    }
    enter(chunk);
    return true;
}

/// Makes a chunk the current one.
template <Source Upstream>
void FixedBlock<Upstream>::enter(Slab *chunk) noexcept {
    chunk->older = chunk_;
    chunk_ = chunk;
    carve_ = reinterpret_cast<std::byte *>(chunk);
    carve_end_ = carve_ + chunk->size;
}

/// Returns a chunk to the source.
template <Source Upstream>
void FixedBlock<Upstream>::leave(Slab *chunk) noexcept {
    if constexpr (checked) {
        each_slab(chunk, [this](std::byte *blocks) { guard::open(blocks, capacity_ * stride_, name); });
    }
    held_ -= chunk->size;
    source_.deallocate(chunk, chunk->size, slab_size_);
}

template <Source Upstream>
void FixedBlock<Upstream>::reset(std::size_t keep) noexcept {
    if constexpr (checked) open_free_blocks();
    if constexpr (hardened) end_hardened(keep != keep_none);
    pool_.emptied();
    ledger_.end_newer_than(nullptr, name);
    top_ = magazine_;
    run_ = run_end_ = nullptr;
    carve_ = carve_end_ = nullptr;
    available_ = nullptr;
    slabs_ = 0;

    // The oldest first, which puts the small ones of a growing sequence in front, in the order in which they
    // will be needed again.
    Slab *row = spare_;
    for (Slab *chunk = std::exchange(chunk_, nullptr); chunk != nullptr;) {
        if constexpr (checked) {
            each_slab(chunk, [this](std::byte *blocks) {
                guard::close(blocks, capacity_ * stride_, guard::Fill::reset);
            });
        }
        Slab *const older = std::exchange(chunk->older, row);
        row = std::exchange(chunk, older);
    }
    spare_ = nullptr;
    Slab **last = &spare_;
    while (row != nullptr) {
        Slab *const chunk = std::exchange(row, row->older);
        if (chunk->size <= keep) {
            keep -= keep == keep_all ? 0 : chunk->size;
            *last = chunk;
            last = &chunk->older;
        } else {
            leave(chunk);
        }
    }
    *last = nullptr;
    if (spare_ == nullptr) next_chunk_ = options_.first_chunk;
}

template <Source Upstream>
bool FixedBlock<Upstream>::owns(const void *address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const Slab *chunk = chunk_; chunk != nullptr; chunk = chunk->older) {
        if (at - reinterpret_cast<std::uintptr_t>(chunk) < chunk->size) return true;
    }
    return false;
}

template <Source Upstream>
FixedBlockStatistics FixedBlock<Upstream>::statistics() const noexcept {
    FixedBlockStatistics found;
    found.held = held_;
    for (const Slab *chunk = spare_; chunk != nullptr; chunk = chunk->older) {
        found.spare += chunk->size;
        ++found.chunks;
    }
    for (const Slab *chunk = chunk_; chunk != nullptr; chunk = chunk->older) ++found.chunks;
    found.live = slabs_ * capacity_ - static_cast<std::size_t>(run_end_ - run_) / stride_ -
                 static_cast<std::size_t>(top_ - magazine_) - quarantine_.size();
    for (const Slab *slab = available_; slab != nullptr; slab = links_.next(slab)) found.live -= slab->free;
    return found;
}

} // namespace reap::inline REAP_MODE

#include "reap/layer/fixed_block/guarded.h"  // IWYU pragma: keep
#include "reap/layer/fixed_block/hardened.h" // IWYU pragma: keep
