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

/// A ChunkCache that does not give back what it keeps when its life ends, so that it can be a thread's
/// without a destructor: CachedPages sees to that.
template <Source Upstream = SystemPages>
class ChunkLists {
  public:
    static constexpr std::size_t smallest = std::size_t{8} << 10;
    static constexpr std::size_t largest = std::size_t{1} << 20;
    static constexpr std::size_t default_capacity = std::size_t{8} << 20;

    constexpr explicit ChunkLists(std::size_t capacity) noexcept : capacity_(capacity) {}
    constexpr ChunkLists(Upstream upstream, std::size_t capacity) noexcept
        : upstream_(upstream), capacity_(capacity) {}
    ChunkLists(const ChunkLists &) = delete;
    ChunkLists &operator=(const ChunkLists &) = delete;

    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        if (size > largest || alignment > chunk_alignment || !is_alignment(alignment))
            return beyond(size, alignment);
        const unsigned number = class_of(size);
        if (Chunk *const chunk = free_[number]; chunk != nullptr) [[likely]] {
            annotate::defined(chunk, sizeof *chunk);
            free_[number] = chunk->next;
            held_ -= smallest << number;
            annotate::undefined(chunk, smallest << number);
            return {chunk, smallest << number};
        }
        return {upstream_.try_allocate(smallest << number, chunk_alignment), smallest << number};
    }

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return try_allocate_at_least(size, alignment).data;
    }

    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (size > largest || alignment > chunk_alignment) return upstream_.deallocate(data, size, alignment);
        const unsigned number = class_of(size);
        const std::size_t whole = smallest << number;
        if (whole > capacity_ - held_) [[unlikely]]
            return upstream_.deallocate(data, whole, chunk_alignment);
        auto *const chunk = ::new (data) Chunk{free_[number]};
        free_[number] = chunk;
        held_ += whole;
        annotate::no_access(chunk, whole);
    }

    /// How many bytes may be kept at most.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    void set_capacity(std::size_t capacity) noexcept {
        capacity_ = capacity;
        if (held_ > capacity) trim();
    }

    /// Bytes that are kept.
    [[nodiscard]] std::size_t held() const noexcept { return held_; }

    /// Gives back all that is kept.
    void trim() noexcept {
        for (unsigned number = 0; number < classes; ++number) {
            while (Chunk *const chunk = free_[number]) {
                annotate::defined(chunk, smallest << number);
                free_[number] = chunk->next;
                upstream_.deallocate(chunk, smallest << number, chunk_alignment);
            }
        }
        held_ = 0;
    }

  private:
    struct Chunk {
        Chunk *next;
    };
    static constexpr std::size_t chunk_alignment = 4096;
    static constexpr unsigned classes = std::bit_width(largest) - std::bit_width(smallest) + 1;

    static unsigned class_of(std::size_t size) noexcept {
        return size <= smallest ? 0 : static_cast<unsigned>(std::bit_width((size - 1) / smallest));
    }

    [[gnu::noinline]] Allocation beyond(std::size_t size, std::size_t alignment) noexcept {
        if constexpr (AtLeastSource<Upstream>) return upstream_.try_allocate_at_least(size, alignment);
        return {upstream_.try_allocate(size, alignment), size};
    }

    [[no_unique_address]] Upstream upstream_;
    std::size_t capacity_;
    std::size_t held_ = 0;
    Chunk *free_[classes] = {};
};

/// Keeps chunks that were given back for whoever asks next: last in, first out, so that the next one is warm.
///
/// It makes a region for each request cheap. Not for objects: sizes are rounded up to powers of two, from 8
/// KB to 1 MB; what is larger, or aligned to more than 4 KB, goes straight to the source below. At most
/// `capacity` bytes are kept. Costs some ten instructions where it has a chunk. Not thread-safe; CachedPages
/// is one for each thread.
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
