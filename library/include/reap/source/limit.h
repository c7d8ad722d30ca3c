#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>

#include "reap/core/failure.h"
#include "reap/core/misuse.h"
#include "reap/core/mode.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/source/cached_pages.h"

namespace reap::inline REAP_MODE {

namespace detail {

/// A number of one thread.
class Counter {
  public:
    /// Adds, unless the sum would exceed the limit.
    bool add(std::size_t amount, std::size_t limit) noexcept {
        if (value_ > limit || amount > limit - value_) return false;
        value_ += amount;
        return true;
    }
    /// Returns the previous value.
    std::size_t subtract(std::size_t amount) noexcept { return std::exchange(value_, value_ - amount); }
    void raise(std::size_t value) noexcept { value_ = detail::max(value_, value); }
    void set(std::size_t value) noexcept { value_ = value; }
    [[nodiscard]] std::size_t get() const noexcept { return value_; }

  private:
    std::size_t value_ = 0;
};

/// The same for many threads. It orders nothing else, so relaxed suffices.
class AtomicCounter {
  public:
    bool add(std::size_t amount, std::size_t limit) noexcept {
        std::size_t value = get();
        do {
            if (value > limit || amount > limit - value) return false;
        } while (!value_.compare_exchange_weak(value, value + amount, std::memory_order_relaxed));
        return true;
    }
    std::size_t subtract(std::size_t amount) noexcept {
        return value_.fetch_sub(amount, std::memory_order_relaxed);
    }
    void raise(std::size_t value) noexcept {
        std::size_t now = get();
        while (now < value && !value_.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
        }
    }
    void set(std::size_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
    [[nodiscard]] std::size_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::size_t> value_{0};
};

} // namespace detail

/// How many bytes may be taken, and how many are. May be part of a larger one: what is taken here is taken
/// from its parent as well, and from the parent's parents. A parent must outlive its parts; when a part ends,
/// what it still counts is refunded to the parent.
///
/// Quota serves one thread, AtomicQuota any number: a tree of them is all of one kind. With several threads,
/// a request that is about to fail may make another one of the same moment fail.
template <class Number>
class BasicQuota {
  public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    explicit BasicQuota(std::size_t limit = unlimited, BasicQuota *parent = nullptr) noexcept
        : parent_(parent) {
        limit_.set(limit);
    }
    BasicQuota(const BasicQuota &) = delete;
    BasicQuota &operator=(const BasicQuota &) = delete;
    ~BasicQuota() {
        if (parent_ != nullptr) parent_->refund(used());
    }

    /// Takes this many bytes here and in all parents, or none anywhere. Linear in the number of parents, as
    /// are all operations.
    [[nodiscard]] bool take(std::size_t bytes) noexcept {
        if (!used_.add(bytes, limit())) return false;
        if (parent_ == nullptr || parent_->take(bytes)) return true;
        used_.subtract(bytes);
        return false;
    }
    /// Confirms that the memory was obtained, for the peaks. What is refunded without that never counts as a
    /// peak.
    void settle() noexcept {
        for (BasicQuota *quota = this; quota != nullptr; quota = quota->parent_)
            quota->peak_.raise(quota->used());
    }
    /// Refunds bytes that were taken.
    void refund(std::size_t bytes) noexcept {
        for (BasicQuota *quota = this; quota != nullptr; quota = quota->parent_) quota->used_.subtract(bytes);
    }

    [[nodiscard]] std::size_t limit() const noexcept { return limit_.get(); }
    /// May be set below the used bytes: then requests fail until enough was refunded.
    void set_limit(std::size_t bytes) noexcept { limit_.set(bytes); }
    [[nodiscard]] std::size_t used() const noexcept { return used_.get(); }
    /// Maximum of the used bytes. Other threads' requests in progress may count.
    [[nodiscard]] std::size_t peak() const noexcept { return peak_.get(); }
    [[nodiscard]] BasicQuota *parent() const noexcept { return parent_; }

  private:
    Number limit_;
    Number used_;
    Number peak_;
    BasicQuota *parent_;
};

using Quota = BasicQuota<detail::Counter>;
using AtomicQuota = BasicQuota<detail::AtomicCounter>;

/// A quota over any source: requests that would go above it fail, and what comes back is refunded.
///
/// Counts bytes as they are asked for (0 as 1), not the pages that the source may round them up to, nor what
/// a process has resident. Allocates no more than was requested, so that a refund is what was charged. A
/// request that fails, here, in a parent or in the source, costs nothing.
///
/// Limits are hierarchical: a Limit's quota can be the parent of others', whatever sources these stand on;
/// and a Limit is a source itself.
///
///   reap::Limit tenant{pages, 1 << 30};
///   reap::Limit request{pages, 1 << 24, &tenant.quota()};
///
/// With AtomicQuota it is as thread-safe as its source. Costs a comparison and an addition for each quota.
template <Source S = CachedPages, class Q = Quota>
class Limit {
  public:
    explicit Limit(std::size_t limit, Q *parent = nullptr) noexcept
        requires std::default_initializable<S>
        : quota_(limit, parent) {}
    Limit(S source, std::size_t limit, Q *parent = nullptr) noexcept
        requires std::copy_constructible<S>
        : source_(source), quota_(limit, parent) {}
    Limit(const Limit &) = delete;
    Limit &operator=(const Limit &) = delete;

    /// Throws what the source throws, and std::bad_alloc at the limit.
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        return take<Failure::throws>(size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return take<Failure::returns_null>(size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        if (data == nullptr) return;
        const std::size_t charge = size + (size == 0);
        if constexpr (checked) {
            if (charge > quota_.used()) {
                report_misuse({Misuse::wrong_size, data, 0, "Limit"});
                return;
            }
        }
        source_.deallocate(data, size, alignment);
        quota_.refund(charge);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires OwningSource<S>
    {
        return source_.owns(address);
    }

    /// Gives access to limit, used and peak bytes.
    [[nodiscard]] Q &quota() noexcept { return quota_; }
    [[nodiscard]] const Q &quota() const noexcept { return quota_; }
    [[nodiscard]] const S &source() const noexcept { return source_; }

  private:
    /// Refunds, unless the source had the memory: it may throw.
    struct Charge {
        Q &quota;
        std::size_t bytes;
        bool had = false;
        ~Charge() {
            if (had) {
                quota.settle();
            } else {
                quota.refund(bytes);
            }
        }
    };

    template <Failure F>
    void *take(std::size_t size, std::size_t alignment) {
        const std::size_t bytes = size + (size == 0);
        if (!quota_.take(bytes)) [[unlikely]]
            return fail<F>();
        Charge charge{quota_, bytes};
        void *const data = obtain<F>(source_, size, alignment);
        charge.had = data != nullptr;
        return data;
    }

    [[no_unique_address]] HeldCopy<S> source_;
    Q quota_;
};

Limit(std::size_t) -> Limit<>;
template <class Q>
Limit(std::size_t, Q *) -> Limit<CachedPages, Q>;
template <Source S>
Limit(S &, std::size_t) -> Limit<Shared<S>>;
template <Source S, class Q>
Limit(S &, std::size_t, Q *) -> Limit<Shared<S>, Q>;

} // namespace reap::inline REAP_MODE
