#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE::detail {

/// The shadow of a reap: bytes at the beginning of each superblock, one for each 16 B of it, so that no block
/// needs a header. (See source/superblocks.h for where these bytes are.)
///
/// A block is 16 B or more, a multiple of Unit: so no two begin in the same 16 B. Only a remainder may be a
/// single unit of 8 B, a gap, which must not begin at a multiple of 16. The byte at a block's beginning
/// encodes its size, and whether it is free. If it has `is_long`, the size follows in the next four, which
/// belong to the block as well; 0 stands for a large object, which has a header in front of it.
template <std::size_t Window, std::size_t Unit>
class Shadow {
  public:
    // Not a character type, which the compiler would have to assume to alias everything else.
    using Code = char8_t;

    static constexpr std::size_t least = 16; ///< minimum size of an object's block
    static constexpr Code last_small = 125;  ///< codes up to this stand for least + code * Unit bytes
    static constexpr Code gap = 126;
    static constexpr Code is_long = 127;
    static constexpr Code is_free = 128;
    static constexpr std::size_t largest_small = least + last_small * Unit;
    /// From here on, code_for() is a difference and a shift.
    static constexpr std::size_t first_of_second = least - Unit + 1;

    /// The code of blocks for `size` bytes; more than last_small if there is none, also for 0.
    [[nodiscard]] static constexpr std::size_t code_for(std::size_t size) noexcept {
        const std::size_t code = (size - first_of_second) / Unit;
        if (code > last_small && size - 1 < least) [[unlikely]]
            return 0;
        return code;
    }
    [[nodiscard]] static constexpr std::size_t size_for(std::size_t code) noexcept {
        return least + code * Unit;
    }
    /// The block size for `size` bytes, which must be valid and not 0.
    [[nodiscard]] static constexpr std::size_t block_for(std::size_t size) noexcept {
        return size <= least ? least : (size + (Unit - 1)) & ~(Unit - 1);
    }

    /// The offset from the beginning of its superblock.
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

    /// The base to which an address divided by 16 is added to get the address's byte: one sum less on the hot
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
    /// The size of the block that begins there; 0: a large object.
    [[nodiscard]] static std::size_t size_of(const void *block) noexcept {
        const Code *const byte = byte_of(block);
        const auto code = static_cast<std::size_t>(*byte & (is_free - 1));
        if (code <= last_small) return size_for(code);
        if (code == gap) return Unit;
        std::uint32_t units = 0;
        std::memcpy(&units, byte + 1, sizeof units);
        return units * Unit;
    }
    /// Records its size. A block longer than largest_small covers far more than eight bytes of the shadow.
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
    /// The same for one that is not small, by the base that bias_of() has.
    static void set_long_at(std::byte *bias, const std::byte *block, std::size_t size) noexcept {
        set_long(byte_at(bias, block), size, 0);
    }
    static void set_large(void *block) noexcept { set_long(byte_of(block), 0, 0); }

    /// Clears the record of what begins in these bytes, both ends multiples of 16.
    static void clear(void *start, std::size_t size) noexcept { std::memset(byte_of(start), 0, size / 16); }
    /// The distance from here within which nothing is recorded, up to `most`.
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
    /// One store. The last three of the eight bytes stand for nothing.
    static void set_long(Code *byte, std::size_t size, Code free) noexcept {
        const std::uint64_t code = is_long | free;
        const std::uint64_t units = static_cast<std::uint32_t>(size / Unit);
        constexpr bool is_little = std::endian::native == std::endian::little;
        const std::uint64_t record = is_little ? units << 8U | code : code << 56U | units << 24U;
        std::memcpy(byte, &record, sizeof record);
    }
};

} // namespace reap::inline REAP_MODE::detail
