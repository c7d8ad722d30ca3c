#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "reap/core/source.h"

namespace reap::inline REAP_MODE {

/// A set of addresses. With it checked and hardened mode tell whether a layer without chunks allocated an
/// address.
///
/// Null must not be inserted. Not thread-safe. Takes its table from a source and doubles it when full: 8 to
/// 32 bytes per address.
template <Source Upstream>
class AddressSet {
  public:
    AddressSet() = default;
    AddressSet(const AddressSet &) = delete;
    AddressSet &operator=(const AddressSet &) = delete;
    ~AddressSet() { give_back(table_, size_); }

    /// Returns false if memory is exhausted; the set is then unchanged.
    bool insert(const void *address) noexcept {
        if (2 * (used_ + 1) > size_ && !grow()) return false;
        table_[place_of(address)] = address;
        ++used_;
        return true;
    }

    [[nodiscard]] bool contains(const void *address) const noexcept {
        return size_ != 0 && table_[place_of(address)] == address;
    }

    /// Removes an address, which must be in the set.
    void erase(const void *address) noexcept {
        std::size_t hole = place_of(address);
        // Backward-shift deletion: move an entry behind the hole into it unless its home slot lies in
        // between.
        for (std::size_t at = next(hole); table_[at] != nullptr; at = next(at)) {
            const std::size_t home = home_of(table_[at]);
            if (((at - home) & (size_ - 1)) < ((at - hole) & (size_ - 1))) continue;
            table_[hole] = table_[at];
            hole = at;
        }
        table_[hole] = nullptr;
        --used_;
    }

  private:
    [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & (size_ - 1); }
    [[nodiscard]] std::size_t home_of(const void *address) const noexcept {
        constexpr std::uint64_t golden = 0x9E3779B97F4A7C15; // Fibonacci hashing
        const auto bits = static_cast<unsigned>(std::countr_zero(size_));
        return reinterpret_cast<std::uintptr_t>(address) * golden >> (64 - bits);
    }
    /// The slot of the address, or the free slot where it belongs.
    [[nodiscard]] std::size_t place_of(const void *address) const noexcept {
        std::size_t at = home_of(address);
        while (table_[at] != nullptr && table_[at] != address) at = next(at);
        return at;
    }
    bool grow() noexcept {
        const std::size_t old_size = size_;
        const void **const old = table_;
        const std::size_t new_size = old_size == 0 ? 512 : 2 * old_size;
        auto *const table = static_cast<const void **>(
            source_.try_allocate(new_size * sizeof *table_, alignof(const void *)));
        if (table == nullptr) return false;
        table_ = table;
        size_ = new_size;
        for (std::size_t at = 0; at < new_size; ++at) table_[at] = nullptr;
        for (std::size_t at = 0; at < old_size; ++at) {
            if (old[at] != nullptr) table_[place_of(old[at])] = old[at];
        }
        give_back(old, old_size);
        return true;
    }
    void give_back(const void **table, std::size_t size) noexcept {
        if (table != nullptr)
            source_.deallocate(static_cast<void *>(table), size * sizeof *table, alignof(const void *));
    }

    const void **table_ = nullptr;
    std::size_t size_ = 0; // a power of two, at least twice what is used
    std::size_t used_ = 0;
    [[no_unique_address]] Upstream source_;
};

/// Stands in for the set where nothing is checked.
class NoAddressSet {
  public:
    bool insert(const void * /*address*/) const noexcept { return true; }
    bool contains(const void * /*address*/) const noexcept { return true; }
    void erase(const void * /*address*/) const noexcept {}
};

/// In checked and hardened mode the addresses that a layer allocated; otherwise contains everything.
template <Source Upstream>
using KnownAddresses = std::conditional_t<checked || hardened, AddressSet<Upstream>, NoAddressSet>;

} // namespace reap::inline REAP_MODE
