#pragma once

#include <cstdint>
#include <type_traits>

#include "reap/core/mode.h"
#include "reap/core/secret.h"

namespace reap::inline REAP_MODE {

/// A word in the memory of a layer that names the layer. With it hardened mode finds the free of another
/// layer's object, although the memory of both is interleaved.
///
/// The word is encoded with its own address and a secret of the process: neither stale copies of it nor other
/// data pass for it. It must not move. A layer clears it before the memory leaves the layer. Costs some eight
/// instructions to set or to compare.
class OwnerWord {
  public:
    void set(const void *layer) noexcept { word_ = encode(layer); }
    void clear() noexcept { word_ = 0; }
    [[nodiscard]] bool names(const void *layer) const noexcept { return word_ == encode(layer); }
    /// The layer that the word names, or null if it names none; any other data names none in all but one of
    /// 2^17 cases.
    [[nodiscard]] const void *layer() const noexcept {
        const std::uint64_t address = word_ ^ key();
        return word_ == 0 || address >> 47U != 0 ? nullptr
                                                 : reinterpret_cast<const void *>(std::uintptr_t{address});
    }

  private:
    // The words of reaps that threads share (layer/owned_reap.h) lie where these do, and lack this bit.
    static constexpr std::uint64_t is_owner_word = std::uint64_t{1} << 63U;

    [[nodiscard]] std::uint64_t key() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this) ^ Secret::of_process() ^ is_owner_word;
    }
    [[nodiscard]] std::uint64_t encode(const void *layer) const noexcept {
        return reinterpret_cast<std::uintptr_t>(layer) ^ key();
    }

    std::uint64_t word_ = 0;
};

/// Replaces an OwnerWord where nothing is checked: no memory, no time.
class NoOwnerWord {
  public:
    // Called as those of OwnerWord are. NOLINTBEGIN(readability-convert-member-functions-to-static)
    void set(const void * /*layer*/) noexcept {}
    void clear() noexcept {}
    [[nodiscard]] bool names(const void * /*layer*/) const noexcept { return true; }
    [[nodiscard]] const void *layer() const noexcept { return nullptr; }
    // NOLINTEND(readability-convert-member-functions-to-static)
};

/// The owner of a record of a layer.
using OwnerRecord = std::conditional_t<hardened, OwnerWord, NoOwnerWord>;

} // namespace reap::inline REAP_MODE
