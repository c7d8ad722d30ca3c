#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "reap/core/mode.h"
#include "reap/core/secret.h"

namespace reap::inline REAP_MODE {

/// Detects overwriting of a record that lies among a program's objects. A seal is a word of the record, a
/// hash of its address and of its other words. With it checked mode finds an overwritten record before it
/// follows a link in it. In checked mode not a secret: it is for mistakes, not for attackers. In hardened
/// mode it needs the secret of the process.
///
/// A record has a Seal as its last member, `seal`, and a `seal_of()` that hashes all its other words.
class Seal {
  public:
    /// The hash. Costs some three instructions per word.
    template <class... Words>
    static std::uint64_t of(const void *record, Words... words) noexcept {
        std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(record) ^ 0x9E3779B97F4A7C15U;
        if constexpr (hardened) mixed ^= Secret::of_process();
        ((mixed = (mixed ^ word(words)) * 0xD6E8FEB86659FD93U, mixed ^= mixed >> 32U), ...);
        return mixed;
    }

    template <class Record>
    static void set(Record &record) noexcept {
        record.seal.put(record.seal_of());
    }
    template <class Record>
    [[nodiscard]] static bool holds(const Record &record) noexcept {
        return record.seal.is(record.seal_of());
    }
    /// Invalidates the seal.
    template <class Record>
    static void end(Record &record) noexcept {
        record.seal.put(~record.seal_of());
    }

  private:
    static std::uint64_t word(std::unsigned_integral auto value) noexcept { return value; }
    static std::uint64_t word(const void *value) noexcept { return reinterpret_cast<std::uintptr_t>(value); }
    template <class Result, class... Arguments>
    static std::uint64_t word(Result (*value)(Arguments...)) noexcept {
        return reinterpret_cast<std::uintptr_t>(value);
    }

    void put(std::uint64_t mixed) noexcept { word_ = mixed; }
    [[nodiscard]] bool is(std::uint64_t mixed) const noexcept { return word_ == mixed; }

    std::uint64_t word_ = 0;
};

/// Replaces a Seal where nothing is checked: no room, no time.
class NoSeal {
  public:
    template <class Record>
    static void set(Record & /*record*/) noexcept {}
    template <class Record>
    static bool holds(const Record & /*record*/) noexcept {
        return true;
    }
    template <class Record>
    static void end(Record & /*record*/) noexcept {}
};

/// The seal member of a record, for checked mode.
using CheckedSeal = std::conditional_t<checked, Seal, NoSeal>;
/// The same, for hardened mode too: of records that have the address of code.
using CodeSeal = std::conditional_t<checked || hardened, Seal, NoSeal>;

} // namespace reap::inline REAP_MODE
