#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <new>

#include "reap/core/annotate.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// A ChunkCache that does not return its chunks at the end of its life, so that it can be thread-local
/// without a destructor: CachedPages sees to that.
template <Source Upstream = SystemPages>
class ChunkLists {
  public:
    static constexpr std::size_t smallest = std::size_t{8} << 10;
    static constexpr std::size_t largest = std::size_t{1} << 20;
    static constexpr std::size_t default_capacity = std::size_t{8} << 20;

    constexpr explicit ChunkLists(std::size_t capacity) noexcept
        : class_capacity_(capacity / smallest / classes) {}
    constexpr ChunkLists(Upstream upstream, std::size_t capacity) noexcept
        : upstream_(upstream), class_capacity_(capacity / smallest / classes) {}
    ChunkLists(const ChunkLists &) = delete;
    ChunkLists &operator=(const ChunkLists &) = delete;

    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        const Allocation kept = try_allocate_cached(size, alignment);
        return kept.data != nullptr ? kept : ask_upstream(size, alignment);
    }

    /// A cached chunk, or null.
    [[nodiscard, gnu::always_inline]] Allocation try_allocate_cached(std::size_t size,
                                                                     std::size_t alignment) noexcept {
        if (!is_alignment(alignment) || alignment > chunk_alignment) [[unlikely]]
            return {};
        if (size <= smallest) [[likely]]
            return take(0);
        return size <= largest ? take(class_of(size)) : Allocation{};
    }

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return try_allocate_at_least(size, alignment).data;
    }

    [[gnu::always_inline]] void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (!try_keep(data, size, alignment)) [[unlikely]]
            give_upstream(data, size, alignment);
    }

    /// Caches memory if there is room.
    [[gnu::always_inline]] bool try_keep(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (alignment > chunk_alignment) [[unlikely]]
            return false;
        if (size <= smallest) [[likely]]
            return keep(data, 0);
        return size <= largest && keep(data, class_of(size));
    }

    /// Passes memory on that is not to be cached.
    [[gnu::noinline]] void give_upstream(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (size > largest || alignment > chunk_alignment) return upstream_.deallocate(data, size, alignment);
        upstream_.deallocate(data, smallest << class_of(size), chunk_alignment);
    }

    /// Maximum number of cached bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return class_capacity_ * smallest * classes; }
    /// If more is cached than the new limit allows, all of it is returned to the source.
    void set_capacity(std::size_t capacity) noexcept {
        if (held() > capacity) trim();
        class_capacity_ = capacity / smallest / classes;
    }

    /// Cached bytes.
    [[nodiscard]] std::size_t held() const noexcept {
        std::size_t sum = 0;
        for (unsigned number = 0; number < classes; ++number) {
            if (Chunk *const chunk = free_[number]; chunk != nullptr) {
                annotate::defined(chunk, sizeof *chunk);
                sum += chunk->depth * (smallest << number);
                annotate::no_access(chunk, sizeof *chunk);
            }
        }
        return sum;
    }

    /// Returns all cached chunks to the source.
    void trim() noexcept {
        for (unsigned number = 0; number < classes; ++number) {
            while (Chunk *const chunk = free_[number]) {
                annotate::defined(chunk, smallest << number);
                free_[number] = chunk->next;
                upstream_.deallocate(chunk, smallest << number, chunk_alignment);
            }
        }
    }

  private:
    // Each stores the number of chunks from it down, so that taking one changes nothing but the list.
    struct Chunk {
        Chunk *next;
        std::size_t depth;
    };
    static constexpr std::size_t chunk_alignment = 4096;
    static constexpr unsigned classes = std::bit_width(largest) - std::bit_width(smallest) + 1;

    static unsigned class_of(std::size_t size) noexcept {
        return size <= smallest ? 0 : static_cast<unsigned>(std::bit_width((size - 1) / smallest));
    }

    [[gnu::always_inline]] Allocation take(unsigned number) noexcept {
        Chunk *const chunk = free_[number];
        if (chunk == nullptr) [[unlikely]]
            return {};
        annotate::defined(chunk, sizeof *chunk);
        free_[number] = chunk->next;
        annotate::undefined(chunk, smallest << number);
        return {chunk, smallest << number};
    }

    [[gnu::always_inline]] bool keep(void *data, unsigned number) noexcept {
        Chunk *const next = free_[number];
        std::size_t depth = 1;
        if (next != nullptr) {
            annotate::defined(next, sizeof *next);
            depth += next->depth;
            annotate::no_access(next, sizeof *next);
        }
        if (depth << number > class_capacity_) [[unlikely]]
            return false;
        free_[number] = ::new (data) Chunk{next, depth};
        annotate::no_access(data, smallest << number);
        return true;
    }

    [[gnu::noinline]] Allocation ask_upstream(std::size_t size, std::size_t alignment) noexcept {
        if (size <= largest && is_alignment(alignment) && alignment <= chunk_alignment) {
            const std::size_t whole = smallest << class_of(size);
            return {upstream_.try_allocate(whole, chunk_alignment), whole};
        }
        if constexpr (AtLeastSource<Upstream>) return upstream_.try_allocate_at_least(size, alignment);
        return {upstream_.try_allocate(size, alignment), size};
    }

    [[no_unique_address]] HeldCopy<Upstream> upstream_;
    std::size_t class_capacity_; // in smallest chunks, for each class
    Chunk *free_[classes] = {};
};

/// Keeps freed chunks for the next request: last in, first out, so that the next one is in the CPU cache.
///
/// It makes per-request regions cheap. Not for objects: sizes are rounded up to powers of two, from 8 KB to 1
/// MB; what is larger, or aligned to more than 4 KB, goes straight to the source below. At most `capacity`
/// bytes are kept. Costs some ten instructions where it has a chunk. Not thread-safe; CachedPages has one per
/// thread.
template <Source Upstream = SystemPages>
class ChunkCache : public ChunkLists<Upstream> {
  public:
    explicit ChunkCache(std::size_t capacity = ChunkLists<Upstream>::default_capacity) noexcept
        requires std::default_initializable<Upstream>
        : ChunkLists<Upstream>(capacity) {}
    explicit ChunkCache(Upstream upstream,
                        std::size_t capacity = ChunkLists<Upstream>::default_capacity) noexcept
        : ChunkLists<Upstream>(upstream, capacity) {}
    ChunkCache(const ChunkCache &) = delete;
    ChunkCache &operator=(const ChunkCache &) = delete;
    ~ChunkCache() { this->trim(); }
};

} // namespace reap::inline REAP_MODE
