#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/source/malloc.h"

namespace reap::inline REAP_MODE {

namespace detail {

/// A stack of trivial values in memory of a source, which doubles when it is full. Its memory is kept until
/// release().
template <class T>
class OutOfBand {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    OutOfBand() = default;
    OutOfBand(const OutOfBand &) = delete;
    OutOfBand &operator=(const OutOfBand &) = delete;
    ~OutOfBand() = default;

    /// Makes room for one more; returns false if the source has none.
    template <Failure F, Source S>
    [[nodiscard]] bool reserve(S &source) noexcept(F == Failure::returns_null) {
        return used_ < capacity_ || grow<F>(source);
    }
    void push(T value) noexcept { values_[used_++] = value; }
    T pop() noexcept { return values_[--used_]; }
    [[nodiscard]] T &operator[](std::size_t index) const noexcept { return values_[index]; }
    [[nodiscard]] const T &top() const noexcept { return values_[used_ - 1]; }
    [[nodiscard]] std::size_t size() const noexcept { return used_; }
    [[nodiscard]] std::size_t held() const noexcept { return capacity_ * sizeof(T); }

    template <Source S>
    void release(S &source) noexcept {
        if (values_ != nullptr) source.deallocate(values_, held(), alignof(T));
        values_ = nullptr;
        used_ = capacity_ = 0;
    }

  private:
    static constexpr std::size_t first = 64;

    template <Failure F, Source S>
    [[gnu::noinline]] bool grow(S &source) noexcept(F == Failure::returns_null) {
        const std::size_t wanted = capacity_ == 0 ? first : capacity_ * 2;
        auto *const values = static_cast<T *>(obtain<F>(source, wanted * sizeof(T), alignof(T)));
        if (values == nullptr) return false;
        if (used_ > 0) std::memcpy(values, values_, used_ * sizeof(T));
        if (values_ != nullptr) source.deallocate(values_, held(), alignof(T));
        values_ = values;
        capacity_ = wanted;
        return true;
    }

    T *values_ = nullptr;
    std::size_t used_ = 0;
    std::size_t capacity_ = 0;
};

} // namespace detail

/// What a RegionEmulator holds.
struct RegionEmulatorStatistics {
    std::size_t objects = 0; ///< number of live objects
    std::size_t records = 0; ///< bytes of their records, in addition to the objects
};

/// The semantics of a region with a separate allocation for each object: the baseline of a fair comparison.
///
/// No faster than its source, and takes more memory. It has no marks and no `owns`, and frees no single
/// object except the last. Not thread-safe; neither copied nor moved.
///
/// Each object is allocated from the source, by default malloc, and recorded out of band: in an array, never
/// beside the object. So only the program touches its objects, and how long each stays in memory after its
/// last use, its drag, depends on the program alone. reset() and the end free them, the youngest first, and
/// run the destructors of what create() made, which may use the emulator, and reset it unless they are
/// those of an array's elements, but not end it. To
/// measure a program with regions as if it had none, replace Region<> by RegionEmulator<>, and run it under
/// each allocator.
///
/// An object costs a call of the source and a record of 8 bytes, or of 24 where the source requires sized
/// deallocation. From Berger, Zorn and McKinley (OOPSLA 2002), section 3.1.
template <Source Upstream = Malloc>
class RegionEmulator : public TypedMembers<RegionEmulator<Upstream>> {
  public:
    using TypedMembers<RegionEmulator>::allocate;
    using TypedMembers<RegionEmulator>::try_allocate;
    using TypedMembers<RegionEmulator>::deallocate;

    /// An emulated region nested in this one.
    using Nested = RegionEmulator<Shared<Upstream>>;

    RegionEmulator()
        requires std::default_initializable<Upstream>
    = default;
    explicit RegionEmulator(Upstream source) noexcept
        requires std::copy_constructible<Upstream>
        : source_(source) {}
    RegionEmulator(const RegionEmulator &) = delete;
    RegionEmulator &operator=(const RegionEmulator &) = delete;
    ~RegionEmulator() {
        reset();
        objects_.release(source_);
        cleanups_.release(source_);
    }

    /// Memory for an object of any size (0 counts as 1). Throws what the source throws, otherwise
    /// std::bad_alloc.
    [[nodiscard, gnu::returns_nonnull]] void *allocate(std::size_t size, std::size_t alignment = usual) {
        return take<Failure::throws>(size, alignment);
    }
    [[nodiscard]] void *try_allocate(std::size_t size, std::size_t alignment = usual) noexcept {
        return take<Failure::returns_null>(size, alignment);
    }

    /// Frees the object that was allocated last; any other stays until the end, as in a region.
    void deallocate(void *object, [[maybe_unused]] std::size_t size,
                    std::size_t /*alignment*/ = usual) noexcept {
        if (object == nullptr) return;
        if constexpr (checked) {
            if (!ledger_.check(object, size + (size == 0), is_live(object), name)) return;
        }
        if (object_of(objects_.top()) == object) free_down_to(objects_.size() - 1);
    }

    /// Frees an object and all that was allocated after it, as an obstack does; destructors run. Returns
    /// false, and does nothing, for null, or for an address that is no object of this region, which checked
    /// mode reports. Linear in the number of younger objects.
    bool free_from(void *object) noexcept {
        if (object == nullptr) return false;
        std::size_t at = objects_.size();
        while (at > 0 && object_of(objects_[at - 1]) != object) --at;
        if (at == 0) {
            if constexpr (checked) report_misuse({Misuse::foreign_free, object, 0, name});
            return false;
        }
        free_down_to(at - 1);
        return true;
    }

    /// Makes a T, whose destructor runs when it is freed. Throws as allocate() and as T's constructor; then
    /// nothing is leaked. T gets this region as its allocator where it would get a Region.
    template <class T, class... Arguments>
    [[nodiscard]] T *create(Arguments &&...arguments) {
        return make<T>(1, [&](void *data) {
            return detail::construct<T>(*this, data, std::forward<Arguments>(arguments)...);
        });
    }

    /// Makes an array of `count` elements, each from the same arguments; without any, value-initialized.
    /// Their destructors run when it is freed, the last element's first. Throws std::bad_array_new_length for
    /// more elements than any array can have, and as create(); the elements made so far are then destroyed.
    template <class T, class... Arguments>
    [[nodiscard]] T *create_array(std::size_t count, Arguments &&...arguments) {
        return make<T>(count, [&](void *data) {
            return detail::construct_array<T>(*this, data, count,
                                              static_cast<const Arguments &>(arguments)...);
        });
    }

    /// Makes an emulated region that ends with this one, or earlier: by a reset() of its own, which frees all
    /// of its objects.
    [[nodiscard]] Nested &nest() { return *create<Nested>(Shared<Upstream>(source_)); }

    /// Frees all objects. The records' memory is kept for reuse.
    void reset() noexcept { free_down_to(0); }

    [[nodiscard]] RegionEmulatorStatistics statistics() const noexcept {
        return {.objects = objects_.size(), .records = objects_.held() + cleanups_.held()};
    }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "RegionEmulator";
    static constexpr std::size_t usual = alignof(std::max_align_t);

    /// An allocation of the source, with what the source requires to free it.
    struct Sized {
        void *raw;
        std::size_t size;
        std::size_t alignment;
    };
    struct Unsized {
        void *raw;
    };
    static constexpr bool tells_sizes = checked || !UnsizedSource<Upstream>;
    using Record = std::conditional_t<tells_sizes, Sized, Unsized>;

    struct Cleanup {
        std::size_t index; // of the object among all
        void *object;
        std::size_t count;                // of elements
        void (*run)(void *, std::size_t); // null while it is made
    };
    /// Memory for an object whose constructor may still throw. The constructor may allocate here as well.
    struct Unfinished {
        RegionEmulator &owner;
        std::size_t index;
        void *data;
        ~Unfinished() {
            if (data != nullptr) owner.free_down_to(index);
        }
    };

    /// `count` objects of T that `construct(data)` makes.
    template <class T, class Construct>
    T *make(std::size_t count, Construct construct) {
        constexpr bool has_cleanup = !std::is_trivially_destructible_v<T>;
        const std::size_t size = detail::bytes_of_array<T>(count);
        if constexpr (has_cleanup) (void)cleanups_.template reserve<Failure::throws>(source_);
        Unfinished memory{*this, objects_.size(), allocate(size, alignof(T))};
        // Recorded before the constructor runs, which may create others.
        [[maybe_unused]] const std::size_t place = cleanups_.size();
        if constexpr (has_cleanup) cleanups_.push({memory.index, memory.data, count, nullptr});
        T *const first = construct(memory.data);
        if constexpr (has_cleanup)
            cleanups_[place].run = [](void *data, std::size_t elements) {
                detail::destroy_elements(std::launder(static_cast<T *>(data)), elements);
            };
        memory.data = nullptr;
        return first;
    }

    template <Failure F>
    void *take(std::size_t size, std::size_t alignment) noexcept(F == Failure::returns_null) {
        if (!is_possible(size, alignment, checked ? guard::extra(alignment) : 0)) [[unlikely]]
            return fail<F>();
        if (!objects_.template reserve<F>(source_)) [[unlikely]]
            return nullptr;
        if constexpr (checked) {
            size += size == 0;
            alignment = detail::max(alignment, usual);
        }
        const std::size_t whole = checked ? guard::padded(size, alignment) : size;
        void *const raw = obtain<F>(source_, whole, alignment);
        if (raw == nullptr) [[unlikely]]
            return nullptr;
        if constexpr (tells_sizes) {
            objects_.push({raw, whole, alignment});
        } else {
            objects_.push({raw});
        }
        if constexpr (checked) return ledger_.admit(raw, size, alignment);
        return raw;
    }

    [[nodiscard]] static void *object_of(const Record &record) noexcept {
        if constexpr (checked) return static_cast<std::byte *>(record.raw) + guard::lead(record.alignment);
        return record.raw;
    }
    [[nodiscard]] bool is_live(const void *object) const noexcept {
        for (std::size_t at = objects_.size(); at > 0; --at) {
            if (object_of(objects_[at - 1]) == object) return true;
        }
        return false;
    }

    void free_down_to(std::size_t count) noexcept {
        // All destructors first, as in a region: they find younger objects intact, as a container its
        // elements, and may allocate.
        while (cleanups_.size() > 0 && cleanups_.top().index >= count) {
            const Cleanup cleanup = cleanups_.pop();
            if (cleanup.run != nullptr) cleanup.run(cleanup.object, cleanup.count);
        }
        while (objects_.size() > count) free_last();
    }
    void free_last() noexcept {
        const Record last = objects_.pop();
        if constexpr (checked) {
            ledger_.end_newer_than(objects_.size() == 0 ? nullptr : object_of(objects_.top()), name);
            annotate::defined(last.raw, last.size);
        }
        if constexpr (tells_sizes) {
            source_.deallocate(last.raw, last.size, last.alignment);
        } else {
            source_.deallocate(last.raw);
        }
    }

    [[no_unique_address]] HeldCopy<Upstream> source_;
    detail::OutOfBand<Record> objects_;
    detail::OutOfBand<Cleanup> cleanups_;
    [[no_unique_address]] Ledger ledger_;
};

} // namespace reap::inline REAP_MODE
