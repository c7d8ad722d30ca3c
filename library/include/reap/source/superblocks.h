#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/system_pages.h"
#include "reap/source/window_map.h"

namespace reap::inline REAP_MODE {

/// The default size of superblocks, and their alignment, in bytes.
inline constexpr std::size_t usual_window = std::size_t{2} << 20;

/// Chunks out of superblocks: aligned blocks of Window bytes of the source below, whose first sixteenth is
/// left free for the user of the chunks, a byte for each 16 of the superblock. The byte of an address inside
/// a chunk is thus found by arithmetic alone: a reap keeps the sizes of objects there.
///
/// It does not serve objects: a chunk has a power of two of bytes, from 8 KB to half a superblock, and is
/// aligned to its size. Larger requests, and larger alignments, go straight to the source. Not thread-safe.
///
/// Chunks are split and coalesced as Knuth's buddies; both cost some ten instructions for each power of two
/// between. Untouched parts of a superblock cost no memory where the source's pages are backed lazily. Empty
/// superblocks are returned to the source, except for one, which stays until trim().
template <Source Upstream = SystemPages, std::size_t Window = usual_window>
class Superblocks {
  public:
    static constexpr std::size_t window = Window;
    static constexpr std::size_t smallest = std::size_t{8} << 10;
    static constexpr std::size_t largest = Window / 2;
    /// The beginning of a superblock, which is in no chunk.
    static constexpr std::size_t shadow_size = Window / 16;
    static_assert(is_alignment(Window) && shadow_size >= smallest, "a superblock has 128 KB at least");

    constexpr Superblocks() noexcept
        requires std::default_initializable<Upstream>
    = default;
    constexpr explicit Superblocks(Upstream upstream) noexcept
        requires std::copy_constructible<Upstream>
        : upstream_(upstream) {}
    Superblocks(const Superblocks &) = delete;
    Superblocks &operator=(const Superblocks &) = delete;
    /// All chunks must be free by then.
    ~Superblocks() { trim(); }

    /// A chunk of `wanted` bytes, or of at least `least`: before a superblock is requested, an available
    /// smaller one suffices. Null, or the source's own exception, on failure.
    template <Failure F>
    [[nodiscard]] Allocation obtain_chunk(std::size_t least, std::size_t wanted) {
        const unsigned lowest = order_of(least);
        const unsigned usual = detail::max(lowest, order_of(detail::min(wanted, largest)));
        for (unsigned order = usual + 1; order-- > lowest;)
            if (free_[order] != nullptr) return take(order, order);
        for (unsigned order = usual + 1; order < orders; ++order)
            if (free_[order] != nullptr) return take(order, usual);
        if (!add_superblock<F>()) return {};
        return take(orders - 1, usual);
    }

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (size > largest || !is_alignment(alignment) || alignment > smallest)
            return upstream_.try_allocate(size, alignment);
        return obtain_chunk<Failure::returns_null>(size, size).data;
    }
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment)
        requires ThrowingSource<Upstream>
    {
        if (size > largest || !is_alignment(alignment) || alignment > smallest)
            return upstream_.allocate(size, alignment);
        return obtain_chunk<Failure::throws>(size, size).data;
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (size > largest || alignment > smallest) return upstream_.deallocate(data, size, alignment);
        give(static_cast<std::byte *>(data), order_of(size));
    }

    /// Only for memory that comes directly from the source, before and after the call.
    [[nodiscard]] void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                   std::size_t alignment) noexcept
        requires ResizingSource<Upstream>
    {
        if (alignment <= smallest && detail::min(size, new_size) <= largest) return nullptr;
        return upstream_.try_resize(data, size, new_size, alignment);
    }

    /// Whether there is a chunk of this many bytes without requesting a superblock from the source.
    [[nodiscard]] bool has_chunk(std::size_t size) const noexcept {
        unsigned order = order_of(size);
        while (order < orders && free_[order] == nullptr) ++order;
        return order < orders;
    }

    /// Returns empty superblocks to the source.
    void trim() noexcept {
        while (spare_ != nullptr) {
            release(spare_);
            spare_ = nullptr;
        }
    }

    /// Calls use(data, size) for free chunks of `least` bytes and more. Their contents need not be preserved.
    template <class Use>
    void purge(std::size_t least, Use use) noexcept {
        for (unsigned order = order_of(least); order < orders; ++order) {
            for (Place *place = free_[order]; place != nullptr; place = place->next) {
                Superblock *const superblock = superblock_of(place);
                const auto grain = static_cast<std::size_t>(place - superblock->places);
                use(reinterpret_cast<std::byte *>(superblock) + grain * smallest, smallest << order);
            }
        }
    }

    /// Bytes taken from the source in superblocks.
    [[nodiscard]] std::size_t held() const noexcept { return superblocks_ * Window; }
    [[nodiscard]] const Upstream &source() const noexcept { return upstream_; }

    /// A word for the user of the chunk that contains the address, one for each 8 KB; initially
    /// indeterminate. They are at the very beginning of a superblock, where they do not collide with a large
    /// object in its stead.
    [[nodiscard]] static void **word_for(const void *address) noexcept {
        const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) & (Window - 1);
        const auto *const superblock = static_cast<const std::byte *>(address) - offset;
        return reinterpret_cast<void **>(const_cast<std::byte *>(superblock)) + offset / smallest;
    }

    /// Chunks are divided into groups of this many bytes; a smaller chunk is one group.
    static constexpr std::size_t largest_group = std::size_t{64} << 10;
    static constexpr std::size_t group_room = 2 * sizeof(void *);

    /// Calls use(room) for each group of a chunk: group_room bytes, aligned like a pointer, for the user of
    /// the chunk until it is deallocated.
    template <class Use>
    static void begin_groups(Allocation chunk, Use use) noexcept {
        Superblock *const superblock = superblock_of(chunk.data);
        const std::size_t size = detail::min(chunk.size, largest_group);
        for (std::size_t at = 0; at < chunk.size; at += smallest) {
            const std::size_t grain = grain_of(static_cast<std::byte *>(chunk.data) + at);
            superblock->group_order[grain] = static_cast<std::uint8_t>(order_of(size));
            if (at % size == 0) use(static_cast<void *>(&superblock->places[grain]));
        }
    }
    /// The room of the group that contains the address.
    [[nodiscard]] static void *room_for(const void *address) noexcept {
        Superblock *const superblock = superblock_of(const_cast<void *>(address));
        const std::size_t grain = grain_of(address);
        return &superblock->places[grain >> superblock->group_order[grain] << superblock->group_order[grain]];
    }

    /// The size of the smallest chunk that has `size` bytes.
    [[nodiscard]] static constexpr std::size_t chunk_for(std::size_t size) noexcept {
        return smallest << order_of(size);
    }

  private:
    static constexpr unsigned orders = std::bit_width(largest / smallest);
    static constexpr std::size_t grains = Window / smallest;

    /// One for each place where a chunk may begin. While it is out, its user's: begin_groups().
    struct Place {
        Place *next;
        Place *previous;
    };
    /// Lies at the beginning of a superblock, in the part of the shadow that would describe the shadow
    /// itself.
    struct Superblock {
        void *words[grains]; // word_for()
        std::size_t out;     // allocated chunks
        Place places[grains];
        std::uint8_t free_order[grains];  // one more than the order of the free chunk that begins there, or 0
        std::uint8_t group_order[grains]; // begin_groups(): of the group that the grain is in
    };
    static_assert(sizeof(Superblock) <= shadow_size / 16);
    static_assert(sizeof(Place) == group_room);

    static constexpr unsigned order_of(std::size_t size) noexcept {
        return size <= smallest ? 0 : static_cast<unsigned>(std::bit_width((size - 1) / smallest));
    }
    static std::size_t grain_of(const void *address) noexcept {
        return (reinterpret_cast<std::uintptr_t>(address) & (Window - 1)) / smallest;
    }
    static Superblock *superblock_of(void *address) noexcept {
        auto *const at = static_cast<std::byte *>(address);
        return reinterpret_cast<Superblock *>(at - (reinterpret_cast<std::uintptr_t>(at) & (Window - 1)));
    }

    void push(Superblock *superblock, std::size_t grain, unsigned order) noexcept {
        superblock->free_order[grain] = static_cast<std::uint8_t>(order + 1);
        Place *const place = ::new (&superblock->places[grain]) Place{free_[order], nullptr};
        if (place->next != nullptr) place->next->previous = place;
        free_[order] = place;
    }
    void pull(Superblock *superblock, std::size_t grain) noexcept {
        Place *const place = &superblock->places[grain];
        if (place->next != nullptr) place->next->previous = place->previous;
        if (place->previous != nullptr)
            place->previous->next = place->next;
        else
            free_[superblock->free_order[grain] - 1U] = place->next;
        superblock->free_order[grain] = 0;
    }

    /// Takes a free chunk of one order, and splits it down to another.
    Allocation take(unsigned order, unsigned wanted) noexcept {
        Superblock *const superblock = superblock_of(free_[order]);
        const auto grain = static_cast<std::size_t>(free_[order] - superblock->places);
        pull(superblock, grain);
        while (order > wanted) {
            --order;
            push(superblock, grain + (std::size_t{1} << order), order);
        }
        if (superblock->out++ == 0 && spare_ == superblock) spare_ = nullptr;
        return {reinterpret_cast<std::byte *>(superblock) + grain * smallest, smallest << wanted};
    }

    void give(std::byte *data, unsigned order) noexcept {
        Superblock *const superblock = superblock_of(data);
        std::size_t grain = grain_of(data);
        // The shadow's grains are never free, so coalescing stops before it.
        for (; order + 1 < orders; ++order) {
            const std::size_t buddy = grain ^ (std::size_t{1} << order);
            if (superblock->free_order[buddy] != order + 1) break;
            pull(superblock, buddy);
            grain = detail::min(grain, buddy);
        }
        push(superblock, grain, order);
        if (--superblock->out > 0) return;
        if (spare_ == nullptr)
            spare_ = superblock;
        else
            release(superblock);
    }

    template <Failure F>
    bool add_superblock() {
        void *const data = obtain<F>(upstream_, Window, Window);
        if (data == nullptr) return false;
        auto *const superblock = ::new (data) Superblock;
        superblock->out = 0;
        std::memset(superblock->free_order, 0, sizeof superblock->free_order);
        // What is left of the shadow doubles up to the whole: a chunk of each size.
        constexpr unsigned first = order_of(shadow_size);
        for (unsigned order = first; order < orders; ++order)
            push(superblock, std::size_t{1} << order, order);
        if constexpr (hardened) recorded_windows<Window>.add(superblock);
        ++superblocks_;
        return true;
    }

    /// Returns an empty superblock to the source.
    void release(Superblock *superblock) noexcept {
        for (std::size_t grain = 0; grain < grains; ++grain)
            if (superblock->free_order[grain] != 0) pull(superblock, grain);
        --superblocks_;
        if constexpr (hardened) recorded_windows<Window>.remove(superblock);
        annotate::defined(superblock, Window);
        upstream_.deallocate(superblock, Window, Window);
    }

    [[no_unique_address]] HeldCopy<Upstream> upstream_;
    Place *free_[orders] = {};    // chunks by their order: the logarithm of their size in smallest ones
    Superblock *spare_ = nullptr; // an empty one
    std::size_t superblocks_ = 0;
};

} // namespace reap::inline REAP_MODE
