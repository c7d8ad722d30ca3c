#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/testkit/failing_source.h"

// How the test kit meets an allocator: through a small adapter, called a subject.
//
// A subject has two members at least:
//
//   Allocation allocate(std::size_t size, std::size_t alignment);
//       memory and how much of it may be used, or null; it does not throw
//   void deallocate(void *data, std::size_t size, std::size_t alignment);
//       takes the size that was asked for, or that it was resized to; null does nothing
//
// and is tested for whatever else it has of these:
//
//   Allocation allocate_or_throw(std::size_t size, std::size_t alignment);
//       the same, and a std::bad_alloc instead of null
//   bool resize(void *data, std::size_t old_size, std::size_t new_size, std::size_t alignment);
//       in place; false: nothing happened
//   Allocation reallocate(void *data, std::size_t old_size, std::size_t new_size, std::size_t alignment);
//       with the same contents, there or elsewhere, and the old one is freed; null: nothing happened
//   bool owns(const void *address);
//       true for every byte of a live object, false for memory that is somebody else's
//   std::size_t mark();
//       the number of a new mark, or no_mark
//   bool rewind(std::size_t number);
//       ends what was allocated since that mark; marks taken since are stale, and false is returned for these
//   void reset();
//       ends all objects and marks; a subject that has it also ends them with itself
//   std::string inspect(std::span<const Object> live);
//       what is wrong with it, as its statistics or its iteration show it; empty: nothing
//   bool may_refuse(std::size_t size, std::size_t alignment);
//       whether null is right just after it was returned; where absent, only if the upstream failed
//   Limits limits();
//       which requests it meets; where absent, all
//   static constexpr bool frees_younger = true;
//       freeing an object also frees all that are younger
//   static constexpr bool told_sizes = false;
//       it is not told, or does not look at, sizes when objects are freed: no wrong size can be found
//
// SourceSubject and ResourceSubject are ready for any reap::Source and any std::pmr::memory_resource.

namespace reap::inline REAP_MODE::testkit {

/// A live object, as the reference model knows it. Sizes in bytes.
struct Object {
    std::byte *data = nullptr;
    std::size_t size = 0;   ///< as it was asked for
    std::size_t usable = 0; ///< as it may be used: at least that
    std::size_t alignment = 0;
    std::uint64_t id = 0; ///< counts up: a larger one is younger
};

/// Which requests a subject meets. Others it has to refuse.
struct Limits {
    std::size_t smallest = 0;
    std::size_t largest = max_object / 8;
    std::size_t largest_alignment = std::size_t{2} << 20;
    /// Whether an alignment of 0, or that is no power of two, is refused; false: asking for one is undefined,
    /// as it is for std::pmr.
    bool checks_alignment = true;
};

/// What mark() returns where there is no memory for one.
inline constexpr std::size_t no_mark = std::numeric_limits<std::size_t>::max();

template <class S>
concept Subject = requires(S &subject, void *data, std::size_t size) {
    { subject.allocate(size, size) } -> std::same_as<Allocation>;
    { subject.deallocate(data, size, size) } -> std::same_as<void>;
};

/// A subject of any type. What it has not, it does to no effect.
class AnySubject {
  public:
    /// What it has beside allocate and deallocate.
    struct Abilities {
        bool throws = false;
        bool resizes = false;
        bool reallocates = false;
        bool knows_own = false;
        bool marks = false;
        bool resets = false;
        bool frees_younger = false;
        bool told_sizes = true;
        bool may_refuse = false;
    };

    explicit AnySubject(const Abilities &abilities) noexcept : abilities_(abilities) {}
    AnySubject(const AnySubject &) = delete;
    AnySubject &operator=(const AnySubject &) = delete;
    virtual ~AnySubject() = default;

    [[nodiscard]] const Abilities &abilities() const noexcept { return abilities_; }
    virtual Allocation allocate(std::size_t size, std::size_t alignment) = 0;
    /// `threw`: whether a std::bad_alloc came out, which is caught here.
    virtual Allocation allocate_or_throw(std::size_t size, std::size_t alignment, bool &threw) = 0;
    virtual void deallocate(void *data, std::size_t size, std::size_t alignment) = 0;
    virtual bool resize(void *data, std::size_t old_size, std::size_t new_size, std::size_t alignment) = 0;
    virtual Allocation reallocate(void *data, std::size_t old_size, std::size_t new_size,
                                  std::size_t alignment) = 0;
    virtual bool owns(const void *address) = 0;
    virtual std::size_t mark() = 0;
    virtual bool rewind(std::size_t number) = 0;
    virtual void reset() = 0;
    virtual std::string inspect(std::span<const Object> live) = 0;
    virtual bool may_refuse(std::size_t size, std::size_t alignment) = 0;
    virtual Limits limits() = 0;

  private:
    Abilities abilities_;
};

namespace detail {

template <Subject S>
class Bound final : public AnySubject {
  public:
    /// `make` returns the subject, which need not be movable.
    template <class Make>
    Bound(std::in_place_t, Make make) : AnySubject(abilities_of()), subject_(make()) {}

    Allocation allocate(std::size_t size, std::size_t alignment) override {
        return subject_.allocate(size, alignment);
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment, bool &threw) override {
        threw = false;
#if __cpp_exceptions
        if constexpr (can_throw) {
            try {
                return subject_.allocate_or_throw(size, alignment);
            } catch (const std::bad_alloc &) {
                threw = true;
                return {};
            }
        }
#endif
        return allocate(size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) override {
        subject_.deallocate(data, size, alignment);
    }
    bool resize(void *data, std::size_t old_size, std::size_t new_size, std::size_t alignment) override {
        if constexpr (can_resize) return subject_.resize(data, old_size, new_size, alignment);
        return false;
    }
    Allocation reallocate(void *data, std::size_t old_size, std::size_t new_size,
                          std::size_t alignment) override {
        if constexpr (can_reallocate) return subject_.reallocate(data, old_size, new_size, alignment);
        return {};
    }
    bool owns(const void *address) override {
        if constexpr (can_tell) return subject_.owns(address);
        return true;
    }
    std::size_t mark() override {
        if constexpr (can_mark) return subject_.mark();
        return no_mark;
    }
    bool rewind(std::size_t number) override {
        if constexpr (can_mark) return subject_.rewind(number);
        return false;
    }
    void reset() override {
        if constexpr (can_reset) subject_.reset();
    }
    std::string inspect(std::span<const Object> live) override {
        if constexpr (requires { subject_.inspect(live); }) return subject_.inspect(live);
        return {};
    }
    bool may_refuse(std::size_t size, std::size_t alignment) override {
        if constexpr (can_refuse) return subject_.may_refuse(size, alignment);
        return false;
    }
    Limits limits() override {
        if constexpr (requires { subject_.limits(); }) return subject_.limits();
        return {};
    }

  private:
    static constexpr bool can_throw = requires(S &s, std::size_t n) { s.allocate_or_throw(n, n); };
    static constexpr bool can_resize = requires(S &s, void *data, std::size_t n) { s.resize(data, n, n, n); };
    static constexpr bool can_reallocate =
        requires(S &s, void *data, std::size_t n) { s.reallocate(data, n, n, n); };
    static constexpr bool can_tell = requires(S &s, void *data) { s.owns(data); };
    static constexpr bool can_mark = requires(S &s, std::size_t n) { s.rewind(s.mark() + n); };
    static constexpr bool can_reset = requires(S &s) { s.reset(); };
    static constexpr bool can_refuse = requires(S &s, std::size_t n) { s.may_refuse(n, n); };

    static Abilities abilities_of() noexcept {
        Abilities found;
#if __cpp_exceptions
        found.throws = can_throw;
#endif
        found.resizes = can_resize;
        found.reallocates = can_reallocate;
        found.knows_own = can_tell;
        found.marks = can_mark;
        found.resets = can_reset;
        found.may_refuse = can_refuse;
        if constexpr (requires { S::frees_younger; }) found.frees_younger = S::frees_younger;
        if constexpr (requires { S::told_sizes; }) found.told_sizes = S::told_sizes;
        return found;
    }

    S subject_;
};

} // namespace detail

/// Makes a subject over an upstream that a test lets fail. A subject that has no use for it ignores it.
using Factory = std::function<std::unique_ptr<AnySubject>(FailingSource<> &upstream)>;

/// A factory of what `make(upstream)` or `make()` returns by value.
template <class Make>
[[nodiscard]] Factory factory(Make make) {
    return [make](FailingSource<> &upstream) -> std::unique_ptr<AnySubject> {
        if constexpr (std::invocable<const Make &, FailingSource<> &>) {
            using Made = std::invoke_result_t<const Make &, FailingSource<> &>;
            return std::make_unique<detail::Bound<Made>>(std::in_place, [&] { return make(upstream); });
        } else {
            using Made = std::invoke_result_t<const Make &>;
            return std::make_unique<detail::Bound<Made>>(std::in_place, make);
        }
    };
}

/// Any source as a subject, with whatever members of its own: allocate that throws, resize, owns, reset.
template <Source S>
class SourceSubject {
  public:
    template <class... Arguments>
    explicit SourceSubject(Arguments &&...arguments) : source_(std::forward<Arguments>(arguments)...) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        if constexpr (AtLeastSource<S>) {
            // Every other way in by turns.
            turn_ = !turn_;
            if (turn_) return source_.try_allocate_at_least(size, alignment);
        }
        void *const data = source_.try_allocate(size, alignment);
        return {data, data == nullptr ? 0 : std::max(size, std::size_t{1})};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment)
        requires ThrowingSource<S>
    {
        return {source_.allocate(size, alignment), std::max(size, std::size_t{1})};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        if (data != nullptr) source_.deallocate(data, size, alignment);
    }
    bool resize(void *data, std::size_t old_size, std::size_t new_size, std::size_t /*alignment*/)
        requires requires(S &source) { source.resize(data, old_size, new_size); }
    {
        return source_.resize(data, old_size, new_size);
    }
    bool owns(const void *address)
        requires requires(S &source) { source.owns(address); }
    {
        return source_.owns(address);
    }
    void reset()
        requires requires(S &source) { source.reset(); }
    {
        source_.reset();
    }

    [[nodiscard]] S &source() noexcept { return source_; }

  private:
    S source_;
    bool turn_ = false;
};

/// Any std::pmr::memory_resource as a subject; `release()`, where it has one, is its reset.
template <std::derived_from<std::pmr::memory_resource> R>
class ResourceSubject {
  public:
    template <class... Arguments>
    explicit ResourceSubject(Arguments &&...arguments) : resource_(std::forward<Arguments>(arguments)...) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
#if __cpp_exceptions
        try {
            return allocate_or_throw(size, alignment);
        } catch (const std::bad_alloc &) {
            return {};
        }
#else
        return allocate_or_throw(size, alignment);
#endif
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        return {resource_.allocate(size, alignment), size};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        if (data != nullptr) resource_.deallocate(data, size, alignment);
    }
    void reset()
        requires requires(R &resource) { resource.release(); }
    {
        resource_.release();
    }
    static Limits limits() noexcept {
        Limits limits;
        limits.checks_alignment = false;
        return limits;
    }

    [[nodiscard]] R &resource() noexcept { return resource_; }

  private:
    R resource_;
};

} // namespace reap::inline REAP_MODE::testkit
