#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "reap/core/mode.h"
#include "reap/core/owner.h"
#include "reap/core/seal.h"
#include "reap/layer/reap/free_blocks.h"

namespace reap::inline REAP_MODE::detail {

/// The reap's mutable state.
struct ReapState {
    struct alignas(16) Chunk {
        Chunk *older;
        std::uint64_t serial; // of the next older mark
        std::size_t size;
        std::byte
            *left; // the end of the objects of an older chunk, where sizes are told and nothing was freed
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
        std::size_t alignment; // of the memory; at least the object's
        std::size_t lead;      // offset of the object in the memory
        std::uint64_t serial;
        [[no_unique_address]] OwnerRecord owner{};
        [[no_unique_address]] CheckedSeal seal{};
        [[nodiscard]] std::uint64_t seal_of() const noexcept {
            return Seal::of(this, older, newer, size, alignment, lead, serial);
        }
    };
    /// The block that a cleanup lies in, for hardened mode; checked mode looks for it when a block is freed.
    struct KnownBlock {
        const void *block = nullptr;
        static void set(auto &cleanup, const void *block) noexcept { cleanup.of.block = block; }
        static const void *get(const auto &cleanup) noexcept { return cleanup.of.block; }
    };
    struct UnknownBlock {
        static void set(auto & /*cleanup*/, const void * /*block*/) noexcept {}
        static const void *get(const auto & /*cleanup*/) noexcept { return nullptr; }
    };
    using OfBlock = std::conditional_t<hardened, KnownBlock, UnknownBlock>;
    struct Cleanup {
        void (*run)(Cleanup *self) = nullptr;
        Cleanup *older = nullptr;
        Cleanup *newer = nullptr;
        [[no_unique_address]] OfBlock of{};
        [[no_unique_address]] CodeSeal seal{};
        [[nodiscard]] std::uint64_t seal_of() const noexcept {
            return Seal::of(this, run, older, newer, OfBlock::get(*this));
        }
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

    /// What most per-request reaps never need.
    struct Rare {
        std::size_t free_bytes = 0; // in addition to those that FreeBlocks counts
        std::size_t sweep_at = 0;   // not before this much is held
        bool marked = false;        // see begin_marks()
        Large *large = nullptr;     // the newest
        Cleanup *cleanups = nullptr;
        MarkRecord *marks = nullptr;
    };
    /// Lies at the end of the oldest chunk, which reserves room for it: so there is room when the first
    /// object is freed. In checked and hardened mode it lies in the reap itself, out of reach of writes
    /// behind objects.
    struct Reserve {
        Rare rare;
        FreeBlocks free;
    };
    static constexpr bool has_own_reserve = checked || hardened;
    /// Uninitialized room for it.
    union ReserveRoom {
        ReserveRoom() noexcept {} // NOLINT(modernize-use-equals-default): which would be deleted
        Reserve reserve;
    };

    // No more members than these: a compiler keeps a local object of ten words in registers, and one of
    // eleven in memory.
    std::byte *current_ = nullptr;
    // Objects are bumped up to here without a look at free blocks. The end of the chunk while nothing was
    // freed; the very beginning where free blocks are tried first.
    std::byte *limit_ = nullptr;
    std::byte *shadow_ = nullptr; // of the current chunk's superblock
    FreeBlocks *reuse_ = nullptr; // null: nothing was freed yet, or a mark forbids reuse
    std::byte *end_ = nullptr;
    // The beginning of the objects of the only chunk, if a reset need check nothing else; otherwise null.
    std::byte *alone_ = nullptr;
    Chunk *chunk_ = nullptr; // the newest
    std::size_t held_ = 0;
    Chunk *spare_ = nullptr;
    Rare *rare_ = nullptr; // null: all of it has its initial values

    /// Bytes in free blocks.
    [[nodiscard]] std::size_t free_bytes() const noexcept {
        return known().free_bytes + (reuse_ != nullptr ? reuse_->bytes : 0);
    }
    [[nodiscard]] const Rare &known() const noexcept {
        static constexpr Rare nothing{};
        return rare_ != nullptr ? *rare_ : nothing;
    }
};

} // namespace reap::inline REAP_MODE::detail
