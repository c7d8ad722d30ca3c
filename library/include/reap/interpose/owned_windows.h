#pragma once

#include <cstddef>

#include "reap/core/source.h"
#include "reap/interpose/process_chunks.h"
#include "reap/layer/owned_reap.h"
#include "reap/source/superblocks.h"

namespace reap::inline REAP_MODE::interpose {

/// The chunks of one owner, each a whole window of the process, and large blocks that begin one. As
/// OwnedChunks does, it records the owner of a window: a word for each 8 KB, in front of the chunk.
template <class Owner>
class OwnedWindows {
    using Words = Superblocks<SystemPages, ProcessChunks::window>;
    static constexpr std::size_t words = ProcessChunks::window / Words::smallest * sizeof(void *);

  public:
    static constexpr bool copies_are_equal = true;

    static constexpr std::size_t window = ProcessChunks::window;
    /// The size of all chunks.
    static constexpr std::size_t chunk = window - words;
    /// A block aligned like this is a large block, and not a chunk.
    static constexpr std::size_t large_alignment = window;

    explicit OwnedWindows(Owner &owner) noexcept : large_(owner) {}

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (alignment >= large_alignment) return large_.try_allocate(size, alignment);
        auto *const data = static_cast<std::byte *>(ProcessChunks::obtain_window());
        if (data == nullptr) return nullptr;
        large_.claim_window(data);
        return data + words;
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (alignment >= large_alignment) return large_.deallocate(data, size, alignment);
        ProcessChunks::return_window(static_cast<std::byte *>(data) - words);
    }
    [[nodiscard]] void *try_resize(void *data, std::size_t size, std::size_t new_size,
                                   std::size_t alignment) noexcept {
        return large_.try_resize(data, size, new_size, alignment);
    }

  private:
    detail::OwnedChunks<Owner, window> large_;
};

} // namespace reap::inline REAP_MODE::interpose
