#pragma once

#include <cstddef>
#include <memory_resource>

#include "reap/core/failure.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"

namespace reap::inline REAP_MODE {

/// Any std::pmr::memory_resource as a source, so that layers can use a program's existing resources.
///
/// Does not own the resource, which must outlive it; is as thread-safe as that. allocate() propagates the
/// resource's own exception. try_allocate() catches it and returns null.
///
/// Code compiled without exceptions cannot catch: there the resource must not throw, or try_allocate() ends
/// the program. Leave `Catches` at its default: it is part of the type because the linker must not merge the
/// two kinds of try_allocate(). Costs a virtual call.
template <bool Catches = with_exceptions>
class Upstream {
  public:
    static constexpr bool copies_are_equal = true;

    /// Over the current default resource.
    Upstream() noexcept : resource_(std::pmr::get_default_resource()) {}
    Upstream(std::pmr::memory_resource *resource) noexcept : resource_(resource) {}

    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        // Resources need not check these.
        if (!is_possible(size, alignment)) throw_bad_alloc();
        return resource_->allocate(size + (size == 0), alignment);
    }

    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (!is_possible(size, alignment)) return nullptr;
        return null_if_thrown<Catches>(
            [=, this] { return resource_->allocate(size + (size == 0), alignment); });
    }

    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        resource_->deallocate(data, size + (size == 0), alignment);
    }

    [[nodiscard]] std::pmr::memory_resource *resource() const noexcept { return resource_; }
    /// Whether memory of one may be freed to the other, according to the resources.
    friend bool operator==(const Upstream &one, const Upstream &other) noexcept {
        return *one.resource_ == *other.resource_;
    }

  private:
    std::pmr::memory_resource *resource_;
};

} // namespace reap::inline REAP_MODE
