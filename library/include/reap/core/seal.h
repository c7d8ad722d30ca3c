#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "reap/core/mode.h"

namespace reap::inline REAP_MODE {

/// Says that a record which lies among a program's objects is as its layer left it: a word of the record that
/// is mixed from where it stands and from what its other words say. So checked mode finds one that was
/// written over before it follows a link in it. Not a secret: it is for mistakes, not for attackers.
///
/// A record has a Seal for its last member, `seal`, and `seal_of()` that mixes all its other words.
class Seal {
  public:
    /// The mix. Costs some three instructions a word.
    template <class... Words>
    static std::uint64_t of(const void *record, Words... words) noexcept {
        std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(record) ^ 0x9E3779B97F4A7C15U;
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
    /// Has it hold no longer.
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

/// In place of a Seal where nothing is checked: no room, no time.
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

/// A record's member for checked mode.
using CheckedSeal = std::conditional_t<checked, Seal, NoSeal>;

} // namespace reap::inline REAP_MODE
