#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <type_traits>

// Shared by the programs here: command line, random numbers and checksum.

namespace workload {

/// The command line: `PROGRAM [--scale N] [--naive]`, and for some programs `[--reap]`, `[--peer NAME]` or
/// `[--curve]`.
struct Options {
    std::size_t scale;      ///< how much work; each program says what it counts
    bool naive = false;     ///< each object from malloc and back to it, at the same points of the program
    bool reap = false;      ///< an allocator of this library in place of the program's own
    bool may_reap = false;  ///< whether the program has that choice
    const char *peer = "";  ///< whose allocator is in the place of the program's own; empty: none
    bool may_peer = false;  ///< whether the program has that choice
    bool curve = false;     ///< print how memory grows, too, which differs between the variants
    bool may_curve = false; ///< whether the program has that choice
};

/// Parses the command line. False, with a message on standard error, if it is invalid.
inline bool read(int count, char **words, Options &options) {
    for (int at = 1; at < count; ++at) {
        const std::string_view word = words[at];
        if (word == "--naive") {
            options.naive = true;
            continue;
        }
        if (word == "--reap" && options.may_reap) {
            options.reap = true;
            continue;
        }
        if (word == "--curve" && options.may_curve) {
            options.curve = true;
            continue;
        }
        if (word == "--peer" && options.may_peer && at + 1 < count) {
            options.peer = words[++at];
            continue;
        }
        if (word == "--scale" && at + 1 < count) {
            const char *const number = words[++at];
            const char *const end = number + std::strlen(number);
            const auto [stop, error] = std::from_chars(number, end, options.scale);
            if (error == std::errc() && stop == end && options.scale > 0) continue;
        }
        std::fprintf(stderr, "%s: cannot read '%s'; usage: %s [--scale N] [--naive%s%s]%s, N from 1\n",
                     words[0], words[at], words[0], options.may_reap ? " | --reap" : "",
                     options.may_peer ? " | --peer NAME" : "", options.may_curve ? " [--curve]" : "");
        return false;
    }
    return true;
}

/// Reproducible pseudo-random numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Random {
  public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31U);
    }
    /// From 0 to below the bound; the bound is small beside 2^32.
    std::size_t below(std::size_t bound) noexcept { return (next() >> 32U) * bound >> 32U; }
    /// From 0 to below 1.
    double fraction() noexcept { return static_cast<double>(next() >> 11U) * 0x1p-53; }
    bool percent(std::size_t chance) noexcept { return below(100) < chance; }

  private:
    std::uint64_t state_;
};

/// A checksum of a program's results, which depends on their order (FNV-1a, by words).
class Checksum {
  public:
    void add(std::uint64_t value) noexcept {
        sum_ = (sum_ ^ value) * 0x100000001b3U;
        sum_ ^= sum_ >> 29U;
    }
    /// To a millionth: what a program computes it computes in the same order in each variant.
    void add(double value) noexcept {
        add(static_cast<std::uint64_t>(static_cast<std::int64_t>(std::llround(value * 1e6))));
    }
    template <class Integer>
        requires std::is_integral_v<Integer>
    void add(Integer value) noexcept {
        add(static_cast<std::uint64_t>(value));
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return sum_; }

  private:
    std::uint64_t sum_ = 0xcbf29ce484222325U;
};

/// Prints the last line of a program.
inline void print(const Checksum &checksum) {
    std::printf("checksum %016llx\n", static_cast<unsigned long long>(checksum.value()));
}

} // namespace workload
