#pragma once

#include <cstdint>
#include <cstring>
#include <ctime>
#include <sys/random.h>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// A random value drawn once per process, and a secret derived from it for each layer that encodes its links.
///
/// The secret of one layer reveals neither that of another nor the value they are derived from. A child of
/// fork() has its parent's.
class Secret {
  public:
    /// The secret of the layer at this address. Costs some fifteen instructions; the first call, a system
    /// call.
    [[nodiscard]] static std::uint64_t draw(std::uintptr_t layer) noexcept {
        static const Seed seed = read_seed();
        return mix(mix(seed.first + layer) ^ seed.second);
    }

    /// One secret for the whole process.
    [[nodiscard]] static std::uint64_t of_process() noexcept {
        static const std::uint64_t word = draw(0);
        return word;
    }

    /// SplitMix64's output function (Steele, Lea and Flood, OOPSLA 2014).
    [[nodiscard]] static constexpr std::uint64_t mix(std::uint64_t word) noexcept {
        word += 0x9E3779B97F4A7C15U;
        word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
        word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
        return word ^ (word >> 31U);
    }

  private:
    struct Seed {
        std::uint64_t first;
        std::uint64_t second;
    };
    /// From the system. Where it has no entropy yet, or lacks the call, from values that differ from run to
    /// run.
    static Seed read_seed() noexcept {
        Seed seed{};
        if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) return seed;
        // Not std::chrono: libreap-malloc has no C++ runtime.
        std::timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        const auto moment =
            static_cast<std::uint64_t>(now.tv_sec) << 32U ^ static_cast<std::uint64_t>(now.tv_nsec);
        return {mix(reinterpret_cast<std::uintptr_t>(&seed)), mix(moment)};
    }
};

} // namespace reap::inline REAP_MODE
