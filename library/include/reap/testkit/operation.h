#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "reap/core/mode.h"

// What is done to a subject, as plain numbers: the reference model gives them a meaning by what is live at
// the moment. So every sequence of operations is a valid one, one that was drawn, one with some taken out,
// and what a fuzzer makes up.

namespace reap::inline REAP_MODE::testkit {

/// Random numbers that are the same on every platform for a seed: splitmix64.
class Random {
  public:
    constexpr explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
    constexpr std::uint64_t operator()() noexcept {
        std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15U;
        mixed = (mixed ^ mixed >> 30U) * 0xBF58476D1CE4E5B9U;
        mixed = (mixed ^ mixed >> 27U) * 0x94D049BB133111EBU;
        return mixed ^ mixed >> 31U;
    }
    constexpr std::uint64_t below(std::uint64_t end) noexcept { return (*this)() % end; }

  private:
    std::uint64_t state_;
};

struct Operation {
    enum Kind : std::uint8_t {
        allocate,
        allocate_or_throw,
        allocate_impossible, ///< a request that must be rejected
        deallocate,
        deallocate_null,
        resize,
        mark,
        rewind,
        reset,
        fail_upstream, ///< the upstream's next request but a few fails, or one in a few from now on
        look,          ///< at the contents of all live objects, at what it owns, at what it says of itself
        kinds,         // how many there are
    };

    Kind kind = allocate;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
};

[[nodiscard]] constexpr const char *to_string(Operation::Kind kind) noexcept {
    constexpr const char *words[] = {"allocate",
                                     "allocate_or_throw",
                                     "allocate_impossible",
                                     "deallocate",
                                     "deallocate_null",
                                     "resize",
                                     "mark",
                                     "rewind",
                                     "reset",
                                     "fail_upstream",
                                     "look"};
    return kind < Operation::kinds ? words[kind] : "none";
}

[[nodiscard]] inline std::string to_string(const Operation &operation) {
    return std::string(to_string(operation.kind)) + " " + std::to_string(operation.first) + " " +
           std::to_string(operation.second);
}

/// A sequence without end, drawn from a seed. Each seed draws first how often it does what, or not at all:
/// sequences that never free, or never reset, reach states that an even mixture never does (Groce and others,
/// Swarm Testing, ISSTA 2012).
class Operations {
  public:
    explicit Operations(std::uint64_t seed) noexcept : random_(seed) {
        // Rare ones are rare so that there is something for them to do.
        constexpr std::uint64_t often[] = {256, 64, 4, 256, 2, 48, 12, 8, 2, 4, 2};
        static_assert(sizeof often / sizeof *often == Operation::kinds);
        for (std::size_t kind = 0; kind < Operation::kinds; ++kind) {
            constexpr std::uint64_t factors[] = {0, 1, 2, 4};
            const bool always = kind == Operation::allocate || kind == Operation::look;
            sum_ += often[kind] * (always ? 2 : factors[random_.below(4)]);
            until_[kind] = sum_;
        }
    }

    Operation operator()() noexcept {
        const std::uint64_t drawn = random_.below(sum_);
        std::size_t kind = 0;
        while (until_[kind] <= drawn) ++kind;
        const std::uint64_t both = random_();
        return {static_cast<Operation::Kind>(kind), static_cast<std::uint32_t>(both),
                static_cast<std::uint32_t>(both >> 32U)};
    }

  private:
    Random random_;
    std::uint64_t until_[Operation::kinds] = {};
    std::uint64_t sum_ = 0;
};

/// Operations from arbitrary bytes, for a fuzzer: nine bytes each; a remainder is ignored.
template <class Use>
void for_each_operation(std::span<const std::uint8_t> bytes, Use use) {
    constexpr std::size_t length = 9;
    for (; bytes.size() >= length; bytes = bytes.subspan(length)) {
        Operation operation;
        operation.kind = static_cast<Operation::Kind>(bytes[0] % Operation::kinds);
        std::memcpy(&operation.first, bytes.data() + 1, sizeof operation.first);
        std::memcpy(&operation.second, bytes.data() + 5, sizeof operation.second);
        if (!use(operation)) return;
    }
}

} // namespace reap::inline REAP_MODE::testkit
