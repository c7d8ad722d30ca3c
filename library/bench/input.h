#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// What the workloads draw on, made once from one seed before any clock starts: all contenders get the same,
// and no compiler knows it.

namespace bench {

inline constexpr std::size_t many = 1'000'000;

/// Reads every byte. One copy for all contenders, so that where its loop lies speeds up or slows down all of
/// them.
std::uint64_t sum_of_bytes(const void *object, std::size_t size);

class Input {
  public:
    static const Input &get();

    /// Bytes an object: a multiple of 8 from 16 to 256, most of them small, 34 in the mean.
    [[nodiscard]] const std::uint16_t *sizes() const { return sizes_.data(); }

    /// The same for workloads whose input should stay in the first-level cache: the sizes of 4,096 objects.
    static constexpr std::size_t few = 4096;

    /// For each of `many` allocations, which of those that live is freed after it (an index into a table
    /// where the last takes the place of the freed one), or `none`.
    [[nodiscard]] const std::uint32_t *victims(unsigned percent) const {
        return percent == 30 ? victims30_.data() : victims90_.data();
    }
    static constexpr std::uint32_t none = UINT32_MAX;

    Input(const Input &) = delete;
    Input &operator=(const Input &) = delete;

  private:
    Input();
    ~Input() = default;

    std::vector<std::uint16_t> sizes_;
    std::vector<std::uint32_t> victims30_;
    std::vector<std::uint32_t> victims90_;
};

} // namespace bench
