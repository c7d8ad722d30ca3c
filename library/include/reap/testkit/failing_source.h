#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/testkit/operation.h"

namespace reap::inline REAP_MODE::testkit {

/// The exception of a FailingSource: a std::bad_alloc of its own type, so that a test can check that the
/// upstream's own exception propagated.
class InjectedFailure : public std::bad_alloc {
  public:
    [[nodiscard]] const char *what() const noexcept override { return "injected failure"; }
};

/// The global heap as a source, one block per request. Sanitizers and valgrind watch every byte of it.
class HeapSource {
  public:
    [[nodiscard]] static void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        if (!is_possible(size, alignment)) return nullptr;
        return ::operator new(size + (size == 0), std::align_val_t{alignment}, std::nothrow);
    }
    static void deallocate(void *data, std::size_t /*size*/, std::size_t alignment) noexcept {
        ::operator delete(data, std::align_val_t{alignment});
    }
    friend bool operator==(HeapSource, HeapSource) noexcept = default;
};

/// A source that fails when it is told to, and keeps account of what is taken from it.
///
/// Put it under an allocator that is to be tested. Which request fails is counted from the call that says so;
/// 0 is the next one. It fails as sources do: null from try_allocate, InjectedFailure from allocate.
///
/// It allocates memory that is filled with junk, and at times a little more than asked for, so that nobody
/// counts on zeroes or on round sizes. When memory comes back it looks at the size, the alignment, and
/// whether any of it is still closed to the program; complaint() tells the first thing that was wrong.
/// Thread-safe. Not for measuring: each call takes a lock and a look-up.
template <Source Upstream = HeapSource>
class FailingSource {
  public:
    /// Larger requests fail unless fail_above() changes the limit: no test wants to fill the machine.
    static constexpr std::size_t default_largest = std::size_t{1} << 26;

    FailingSource() = default;
    FailingSource(const FailingSource &) = delete;
    FailingSource &operator=(const FailingSource &) = delete;
    /// Outstanding blocks are returned to the upstream: they were counted, and need not be reported again as
    /// leaks.
    ~FailingSource() {
        for (const auto &[data, taken] : taken_) {
            annotate::defined(data, taken.given);
            upstream_.deallocate(data, taken.given, taken.alignment);
        }
    }

    /// One request fails: the `number`-th from now.
    void fail_once(std::uint64_t number) noexcept { plan(requests_ + number, requests_ + number + 1); }
    /// That request fails, and all after it.
    void fail_from(std::uint64_t number) noexcept { plan(requests_ + number, never); }
    /// Requests for more than `largest` bytes fail.
    void fail_above(std::size_t largest) noexcept {
        const std::scoped_lock lock(mutex_);
        largest_ = largest;
    }
    /// One request in `one_in` fails, at random from `seed`.
    void fail_randomly(std::uint64_t seed, std::uint64_t one_in) noexcept {
        const std::scoped_lock lock(mutex_);
        random_ = Random(seed);
        one_in_ = one_in;
    }
    /// No request fails any more, except for those above the largest.
    void succeed() noexcept {
        plan(never, never);
        fail_randomly(0, 0);
    }

    /// Requests so far, failed ones included.
    [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
    /// Requests that failed.
    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }
    /// Blocks and bytes outstanding.
    [[nodiscard]] std::size_t outstanding() const noexcept { return taken_.size(); }
    [[nodiscard]] std::size_t outstanding_bytes() const noexcept { return bytes_; }
    /// Whether the address lies in an outstanding block. Linear in the number of blocks.
    [[nodiscard]] bool holds(const void *address) const {
        const std::scoped_lock lock(mutex_);
        return std::ranges::any_of(taken_, [address](const auto &one) {
            return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(one.first) <
                   one.second.given;
        });
    }
    /// Maximum of the outstanding bytes.
    [[nodiscard]] std::size_t peak_bytes() const noexcept { return peak_; }
    /// The first invalid deallocation, in words; empty if there was none.
    [[nodiscard]] const std::string &complaint() const noexcept { return complaint_; }

    [[nodiscard]] Allocation try_allocate_at_least(std::size_t size, std::size_t alignment) noexcept {
        const std::scoped_lock lock(mutex_);
        const std::size_t spare = is_possible(size, alignment, odd_spare) ? odd_spare : 0;
        return {take(size, size + spare, alignment), size + spare};
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        const std::scoped_lock lock(mutex_);
        return take(size, size, alignment);
    }
    [[nodiscard]] void *allocate(std::size_t size, std::size_t alignment) {
        void *const data = try_allocate(size, alignment);
#if __cpp_exceptions
        if (data == nullptr) throw InjectedFailure();
#else
        if (data == nullptr) throw_bad_alloc();
#endif
        return data;
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        const std::scoped_lock lock(mutex_);
        const auto found = taken_.find(data);
        if (found == taken_.end()) return complain("an address that is not out", data, size, alignment);
        const Taken taken = found->second;
        if (size < taken.asked || size > taken.given) complain("a wrong size", data, size, alignment);
        if (alignment != taken.alignment) complain("a wrong alignment", data, size, alignment);
#if REAP_ASAN
        if (__asan_region_is_poisoned(data, taken.given) != nullptr) {
            complain("memory that is still closed to the program", data, size, alignment);
            annotate::defined(data, taken.given);
        }
#endif
        taken_.erase(found);
        bytes_ -= taken.given;
        spoil(data, taken.given);
        upstream_.deallocate(data, taken.given, taken.alignment);
    }

  private:
    struct Taken {
        std::size_t asked;
        std::size_t given;
        std::size_t alignment;
    };
    static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
    static constexpr std::size_t odd_spare = 40;

    void plan(std::uint64_t first, std::uint64_t last) noexcept {
        const std::scoped_lock lock(mutex_);
        first_failure_ = first;
        end_of_failures_ = last;
    }

    void *take(std::size_t asked, std::size_t given, std::size_t alignment) noexcept {
        const std::uint64_t number = requests_++;
        const bool planned = number >= first_failure_ && number < end_of_failures_;
        const bool drawn = one_in_ != 0 && random_.below(one_in_) == 0;
        void *data = nullptr;
        if (!planned && !drawn && asked <= largest_) data = upstream_.try_allocate(given, alignment);
        if (data == nullptr) {
            ++failures_;
            return nullptr;
        }
        taken_.emplace(data, Taken{asked, given, alignment});
        bytes_ += given;
        peak_ = std::max(peak_, bytes_);
        spoil(data, given);
        return data;
    }

    /// For large memory only the two ends, since filling all of it would dominate a test's run time.
    static void spoil(void *data, std::size_t size) noexcept {
        constexpr std::size_t end = std::size_t{32} << 10;
        const std::size_t some = std::min(size, end);
        std::memset(data, 0x8E, some);
        std::memset(static_cast<std::byte *>(data) + (size - some), 0x8E, some);
    }

    void complain(const char *what, const void *data, std::size_t size, std::size_t alignment) noexcept {
        if (!complaint_.empty()) return;
        complaint_ = std::string("the source was returned ") + what + ": address " +
                     std::to_string(reinterpret_cast<std::uintptr_t>(data)) + ", size " +
                     std::to_string(size) + ", alignment " + std::to_string(alignment);
    }

    [[no_unique_address]] HeldCopy<Upstream> upstream_;
    mutable std::mutex mutex_;
    std::unordered_map<void *, Taken> taken_;
    std::string complaint_;
    std::uint64_t requests_ = 0;
    std::uint64_t failures_ = 0;
    std::uint64_t first_failure_ = never;
    std::uint64_t end_of_failures_ = never;
    Random random_{0};
    std::uint64_t one_in_ = 0;
    std::size_t largest_ = default_largest;
    std::size_t bytes_ = 0;
    std::size_t peak_ = 0;
};

/// A FailingSource as a std::pmr::memory_resource, to be the upstream of a resource under test.
class FailingResource final : public std::pmr::memory_resource {
  public:
    explicit FailingResource(FailingSource<> &source) noexcept : source_(&source) {}

  private:
    void *do_allocate(std::size_t size, std::size_t alignment) override {
        return source_->allocate(size, alignment);
    }
    void do_deallocate(void *data, std::size_t size, std::size_t alignment) override {
        source_->deallocate(data, size, alignment);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource &other) const noexcept override {
        return this == &other;
    }

    FailingSource<> *source_;
};

} // namespace reap::inline REAP_MODE::testkit
