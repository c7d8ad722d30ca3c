#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// What stands for each block of a reap: a byte at the beginning of the block's superblock, one for each 16 B
/// of it, so that no block need have a header. (See source/superblocks.h for where these bytes are.)
///
/// A block is 16 B or more, a multiple of Unit: then no two begin in the same 16 B. Only what is left over
/// may be a single unit of 8 B, a gap, which must not begin at a multiple of 16. The byte of a block's
/// beginning says how large it is, and whether it is free. Where it says `is_long`, the size follows in the
/// next four, which are the block's own; 0 stands for a large object, which has a header in front of it.
template <std::size_t Window, std::size_t Unit>
class Shadow {
  public:
    // Not a character, which the compiler would have to take for a part of anything else in memory.
    using Code = char8_t;

    static constexpr std::size_t least = 16; ///< no block of an object is smaller
    static constexpr Code last_small = 125;  ///< codes up to this stand for least + code * Unit bytes
    static constexpr Code gap = 126;
    static constexpr Code is_long = 127;
    static constexpr Code is_free = 128;
    static constexpr std::size_t largest_small = least + last_small * Unit;
    /// From here on, code_for() is a difference and a shift.
    static constexpr std::size_t first_of_second = least - Unit + 1;

    /// The code of blocks for `size` bytes; more than last_small where that is none: for 0 as well.
    [[nodiscard]] static constexpr std::size_t code_for(std::size_t size) noexcept {
        const std::size_t code = (size - first_of_second) / Unit;
        if (code > last_small && size - 1 < least) [[unlikely]]
            return 0;
        return code;
    }
    [[nodiscard]] static constexpr std::size_t size_for(std::size_t code) noexcept {
        return least + code * Unit;
    }
    /// How large a block for `size` bytes is; the caller knows that it can be, and is not 0.
    [[nodiscard]] static constexpr std::size_t block_for(std::size_t size) noexcept {
        return size <= least ? least : (size + (Unit - 1)) & ~(Unit - 1);
    }

    /// From the beginning of its superblock.
    [[nodiscard]] static std::size_t offset_of(const void *block) noexcept {
        return reinterpret_cast<std::uintptr_t>(block) & (Window - 1);
    }
    [[nodiscard]] static Code *byte_of(void *block) noexcept {
        const std::size_t offset = offset_of(block);
        return reinterpret_cast<Code *>(static_cast<std::byte *>(block) - offset) + (offset >> 4U);
    }
    [[nodiscard]] static const Code *byte_of(const void *block) noexcept {
        return byte_of(const_cast<void *>(block));
    }

    /// To which an address divided by 16 is to be added, for the address's byte: one sum less on the hot
    /// path.
    [[nodiscard]] static std::byte *bias_of(std::byte *block) noexcept {
        std::byte *const superblock = block - offset_of(block);
        return superblock - (reinterpret_cast<std::uintptr_t>(superblock) >> 4U);
    }
    [[nodiscard]] static Code *byte_at(std::byte *bias, const std::byte *block) noexcept {
        return reinterpret_cast<Code *>(bias + (reinterpret_cast<std::uintptr_t>(block) >> 4U));
    }

    static void set_free(void *block, Code free) noexcept {
        Code *const byte = byte_of(block);
        *byte = static_cast<Code>((*byte & (is_free - 1)) | free);
    }
    [[nodiscard]] static bool is_free_block(const void *block) noexcept {
        return (*byte_of(block) & is_free) != 0;
    }
    /// How large the block is that begins there; 0: a large object.
    [[nodiscard]] static std::size_t size_of(const void *block) noexcept {
        const Code *const byte = byte_of(block);
        const auto code = static_cast<std::size_t>(*byte & (is_free - 1));
        if (code <= last_small) return size_for(code);
        if (code == gap) return Unit;
        std::uint32_t units = 0;
        std::memcpy(&units, byte + 1, sizeof units);
        return units * Unit;
    }
    /// Says how large it is. A block that is longer than largest_small covers five bytes by far.
    static void set(void *block, std::size_t size, Code free) noexcept {
        Code *const byte = byte_of(block);
        if (size < least) {
            *byte = gap | free;
        } else if (size <= largest_small && size != 0) {
            *byte = static_cast<Code>((size - least) / Unit) | free;
        } else {
            set_long(byte, size, free);
        }
    }
    static void set_large(void *block) noexcept { set_long(byte_of(block), 0, 0); }

    /// Says nothing of what begins in these bytes, both ends multiples of 16.
    static void clear(void *start, std::size_t size) noexcept { std::memset(byte_of(start), 0, size / 16); }
    /// How far from here nothing is said, up to `most`.
    [[nodiscard]] static std::size_t clear_from(const void *start, std::size_t most) noexcept {
        const Code *const bytes = byte_of(start);
        std::size_t count = 0;
        for (std::uint64_t eight = 0; count + sizeof eight <= most / 16; count += sizeof eight) {
            std::memcpy(&eight, bytes + count, sizeof eight);
            if (eight != 0) break;
        }
        while (count < most / 16 && bytes[count] == 0) ++count;
        return count * 16;
    }

  private:
    static void set_long(Code *byte, std::size_t size, Code free) noexcept {
        *byte = is_long | free;
        const auto units = static_cast<std::uint32_t>(size / Unit);
        std::memcpy(byte + 1, &units, sizeof units);
    }
};

} // namespace reap::inline REAP_MODE::detail
