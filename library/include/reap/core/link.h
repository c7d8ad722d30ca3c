#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>

#include "reap/core/annotate.h"
#include "reap/core/mode.h"
#include "reap/core/secret.h"
#include "reap/core/size.h"

// The links of free lists, which lie in the free blocks themselves. `Layer` makes the type distinct for two
// layers, one inside the other: otherwise both would take room.

namespace reap::inline REAP_MODE {

/// Plain links: an address, which whoever overwrites it controls.
template <class Layer>
class PlainLinks {
  public:
    [[gnu::always_inline]] void cover(const void * /*data*/, std::size_t /*size*/) const noexcept {}
    [[gnu::always_inline]] static bool covers(const void * /*address*/) noexcept { return true; }
    template <class T>
    [[gnu::always_inline]] static bool is_valid(const T * /*node*/) noexcept {
        return true;
    }
    template <class T>
    [[gnu::always_inline]] static bool is_last(const T * /*node*/) noexcept {
        return true;
    }
    /// The target of the node's first member, `next`.
    template <class T>
    [[gnu::always_inline]] static T *next(const T *node) noexcept {
        return node->next;
    }
    /// Constructs a node there that links to `next`.
    template <class T>
    [[gnu::always_inline]] static T *make(void *at, T *next) noexcept {
        annotate::forget(at, sizeof(T));
        return ::new (at) T{next};
    }
    template <class T>
    [[gnu::always_inline]] static void set_next(T *node, T *next) noexcept {
        node->next = next;
    }
};

/// Links that detect overwriting, and that cannot be forged without the layer's secret: bswap(next ^ own
/// address ^ secret). A link is valid if it decodes to null, or to an aligned address in the range that the
/// layer covers. If all eight bytes were overwritten, the link is still valid in fewer than one of 2^30 cases
/// where less than 16 GB are covered; if only the last byte was, in up to one of 8. The bytes are reversed so
/// that a write to the first bytes, the usual one, changes the high bits of the address. Idea: Safe-Linking
/// of glibc 2.32, and the encoded freelists of snmalloc and mimalloc.
template <class Layer>
class EncodedLinks {
  public:
    EncodedLinks() noexcept : secret_(Secret::draw(reinterpret_cast<std::uintptr_t>(this))) {}
    EncodedLinks(const EncodedLinks &) = delete;
    EncodedLinks &operator=(const EncodedLinks &) = delete;
    ~EncodedLinks() = default;

    /// From now on nodes may lie in these bytes as well.
    void cover(const void *data, std::size_t size) noexcept {
        const auto start = reinterpret_cast<std::uintptr_t>(data);
        low_ = detail::min(low_, start);
        high_ = detail::max(high_, start + size);
    }
    /// Whether the address is between the lowest and the highest byte covered.
    [[nodiscard]] bool covers(const void *address) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        return at >= low_ && at < high_;
    }

    /// Whether the node's link is valid for this layer.
    template <class T>
    [[nodiscard]] bool is_valid(const T *node) const noexcept {
        const std::uintptr_t next = decode(node);
        return next == 0 || (next % alignof(T) == 0 && next >= low_ && next < high_);
    }
    /// The target of the node; null if its link is invalid.
    template <class T>
    [[nodiscard]] T *next(const T *node) const noexcept {
        return is_valid(node) ? reinterpret_cast<T *>(decode(node)) : nullptr;
    }
    /// Whether the node's link is the null link.
    template <class T>
    [[nodiscard]] bool is_last(const T *node) const noexcept {
        return decode(node) == 0;
    }
    template <class T>
    T *make(void *at, T *next) const noexcept {
        annotate::forget(at, sizeof(T));
        return ::new (at) T{reinterpret_cast<T *>(encode(at, next))};
    }
    template <class T>
    void set_next(T *node, T *next) const noexcept {
        node->next = reinterpret_cast<T *>(encode(node, next));
    }

  private:
    static_assert(sizeof(void *) == sizeof(std::uint64_t), "for addresses of 64 bits");

    [[nodiscard]] std::uint64_t encode(const void *at, const void *next) const noexcept {
        return __builtin_bswap64(reinterpret_cast<std::uintptr_t>(next) ^
                                 reinterpret_cast<std::uintptr_t>(at) ^ secret_);
    }
    template <class T>
    [[nodiscard]] std::uint64_t decode(const T *node) const noexcept {
        return __builtin_bswap64(reinterpret_cast<std::uintptr_t>(node->next)) ^
               reinterpret_cast<std::uintptr_t>(node) ^ secret_;
    }

    std::uint64_t secret_;
    std::uintptr_t low_ = std::numeric_limits<std::uintptr_t>::max();
    std::uintptr_t high_ = 0;
};

template <class Layer>
using Links = std::conditional_t<hardened, EncodedLinks<Layer>, PlainLinks<Layer>>;

} // namespace reap::inline REAP_MODE
