#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/address_set.h"
#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/link.h"
#include "reap/core/misuse.h"
#include "reap/core/quarantine.h"
#include "reap/core/secret.h"
#include "reap/core/size.h"
#include "reap/core/source.h"
#include "reap/core/typed.h"
#include "reap/source/malloc.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// Whether a PerClass keeps what is freed.
enum class Freelist {
    on,
    off, ///< each object is returned to the source at once: the naive variant of an experiment
};

/// The per-class allocator of the papers: objects of one type, each allocated from the source by itself;
/// freed ones are kept on a list for reuse.
///
/// It has no chunks, so it can neither free all objects together nor enumerate them: objects that live at its
/// end are leaked. Objects lie where the source put them. It is not thread-safe (PerThread, Locked), and can
/// be neither copied nor moved.
///
/// Where objects are created and destroyed by the million it saves what malloc does beyond a list, which with
/// current mallocs is little (2.3 % of boxed-sim over mimalloc, ISMM 2026); a Mempool or FixedBlock is nearly
/// always the better choice. It exists for comparison, and for sources that must see each object.
///
/// allocate() and deallocate() cost five instructions where the list has an object. The list goes through the
/// freed objects.
template <class T, Source Upstream = Malloc>
class PerClass {
    static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_nothrow_destructible_v<T>);

  public:
    explicit PerClass(Freelist freelist = Freelist::on) noexcept
        requires std::default_initializable<Upstream>
        : freelist_(freelist) {}
    explicit PerClass(Upstream source, Freelist freelist = Freelist::on) noexcept
        requires std::copy_constructible<Upstream>
        : source_(source), freelist_(freelist) {}
    PerClass(const PerClass &) = delete;
    PerClass &operator=(const PerClass &) = delete;
    ~PerClass() { release(); }

    /// Memory for a T; throws what the source throws, otherwise std::bad_alloc.
    [[nodiscard, gnu::returns_nonnull]] void *allocate() {
        return pool_.handed_out(take<Failure::throws>(), sizeof(T));
    }
    /// The same, but returns null on failure.
    [[nodiscard]] void *try_allocate() noexcept {
        return pool_.handed_out(take<Failure::returns_null>(), sizeof(T));
    }

    /// Frees such memory.
    void deallocate(void *object) noexcept {
        if constexpr (checked) return guarded_deallocate(object);
        if (object == nullptr) return;
        if constexpr (hardened) {
            if (!is_live(object)) return;
        }
        annotate::ended(object, sizeof(T));
        pool_.came_back(object);
        put(object);
    }

    /// Makes a T. Throws as allocate() and as T's constructor; then nothing is leaked. T's allocator is that
    /// of the source, as in a Mempool.
    template <class... Arguments>
    [[nodiscard, gnu::returns_nonnull]] T *create(Arguments &&...arguments) {
        Unfinished memory{*this, allocate()};
        T *const object =
            detail::construct_over<T>(source_, memory.data, std::forward<Arguments>(arguments)...);
        memory.data = nullptr;
        return object;
    }

    /// Destroys a T that create() made. Null is ignored. Its destructor may use this pool, as a tree's does,
    /// but not end it.
    void destroy(T *object) noexcept {
        if (object == nullptr) return;
        if constexpr (checked) {
            if (!ledger_.check(object, guard::any_size, known_.contains(object), name)) return;
        }
        if constexpr (hardened) {
            if (!is_live(object)) return;
        }
        object->~T();
        deallocate(object);
    }

    /// Returns everything on the list to the source.
    void release() noexcept {
        quarantine_.drain([this](void *raw) {
            if (is_untouched(raw)) return give_back(raw);
            report_misuse({Misuse::use_after_free, raw, sizeof(T), name});
        });
        while (free_ != nullptr) {
            void *const raw = pop();
            if (raw != nullptr) give_back(raw);
        }
    }

    /// The number of objects on the list. Linear in it.
    [[nodiscard]] std::size_t free_objects() const noexcept {
        std::size_t count = quarantine_.size();
        for (const Free *free = free_; free != nullptr; ++count) {
            const Opened window(free);
            free = links_.next(free);
        }
        return count;
    }
    [[nodiscard]] Freelist freelist() const noexcept { return freelist_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "PerClass";

    struct PlainFree {
        PlainFree *next;
    };
    /// Hardened mode recognizes a free object by its second word.
    struct MarkedFree {
        MarkedFree *next;
        std::uint64_t mark = 0;
    };
    using Free = std::conditional_t<hardened, MarkedFree, PlainFree>;
    struct NoWindow {
        explicit NoWindow(const Free * /*free*/) noexcept {}
        NoWindow(const NoWindow &) = delete;
        NoWindow &operator=(const NoWindow &) = delete;
    };
    struct Window : guard::detail::Window {
        explicit Window(const Free *free) noexcept : guard::detail::Window(free, sizeof *free) {}
    };
    /// Makes a link readable in checked mode, where free memory is poisoned.
    using Opened = std::conditional_t<checked, Window, NoWindow>;
    /// Memory for an object whose constructor may still throw.
    struct Unfinished {
        PerClass &owner;
        void *data;
        ~Unfinished() {
            if (data != nullptr) owner.deallocate(data);
        }
    };

    static constexpr std::size_t alignment = detail::max(alignof(T), checked ? 16 : alignof(Free));
    static constexpr std::size_t size =
        checked ? guard::padded(sizeof(T), alignment) : detail::max(sizeof(T), sizeof(Free));

    template <Failure F>
    [[gnu::always_inline]] void *take() noexcept(F == Failure::returns_null) {
        if (free_ == nullptr) [[unlikely]]
            return ask<F>();
        void *const raw = pop();
        if constexpr (hardened) {
            if (raw == nullptr) [[unlikely]]
                return ask<F>();
            ::new (raw) Free{nullptr};
        }
        if constexpr (checked) {
            open(raw);
            return ledger_.admit(raw, sizeof(T), alignment);
        }
        return raw;
    }

    template <Failure F>
    [[gnu::noinline]] void *ask() noexcept(F == Failure::returns_null) {
        const annotate::Quiet quiet;
        void *raw = nullptr;
        if constexpr (hardened) {
            // Better an object from the quarantine than none.
            if (quarantine_.size() > 0) {
                raw = obtain<Failure::returns_null>(source_, size, alignment);
                if (raw == nullptr) {
                    quarantine_.drain([this](void *waiting) { put_on_list(waiting); });
                    return take<F>();
                }
            }
        }
        if (raw == nullptr) raw = obtain<F>(source_, size, alignment);
        if constexpr (checked || hardened) {
            if (raw == nullptr) return nullptr;
            void *const object = ledger_.admit(raw, sizeof(T), alignment);
            if constexpr (hardened) {
                links_.cover(raw, size);
                set_mark(raw, 0); // somebody's before
            }
            if (known_.insert(object)) return object;
            ledger_.discharge(object, guard::any_size, true, name);
            annotate::defined(raw, size);
            source_.deallocate(raw, size, alignment);
            return fail<F>();
        }
        return raw;
    }

    /// In hardened mode null if the first object was written to: then the list is abandoned.
    void *pop() noexcept {
        Free *const free = free_;
        const Opened window(free);
        if constexpr (hardened) {
            if (!links_.is_valid(free) || !is_marked(free)) [[unlikely]] {
                free_ = nullptr;
                report_misuse({Misuse::use_after_free, free, sizeof(T), name});
                return nullptr;
            }
        }
        free_ = links_.next(free);
        return free;
    }

    [[gnu::always_inline]] void put(void *raw) noexcept {
        if (freelist_ == Freelist::off) [[unlikely]] {
            if constexpr (hardened) known_.erase(raw);
            return source_.deallocate(raw, size, alignment);
        }
        if constexpr (hardened) {
            links_.template make<Free>(raw, nullptr);
            set_mark(raw, mark_of(raw));
            raw = quarantine_.exchange(raw);
            if (raw != nullptr) put_on_list(raw);
            return;
        }
        free_ = links_.make(raw, free_);
    }

    /// Whether nothing was written to the first words of what is in quarantine.
    bool is_untouched(const void *raw) const noexcept {
        return is_marked(raw) && links_.is_last(static_cast<const Free *>(raw));
    }
    /// From the quarantine to the list.
    void put_on_list(void *raw) noexcept {
        auto *const free = static_cast<Free *>(raw);
        if (!is_untouched(raw)) [[unlikely]]
            return report_misuse({Misuse::use_after_free, raw, sizeof(T), name});
        links_.set_next(free, free_);
        free_ = free;
    }

    // Hardened mode's marks: only a free object of this layer has this in its second word.

    std::uint64_t mark_of(const void *raw) const noexcept {
        return Secret::of_process() ^ std::rotl(std::uint64_t{reinterpret_cast<std::uintptr_t>(raw)}, 24) ^
               reinterpret_cast<std::uintptr_t>(this);
    }
    static void set_mark(void *raw, std::uint64_t mark) noexcept {
        std::memcpy(static_cast<std::byte *>(raw) + sizeof(void *), &mark, sizeof mark);
    }
    bool is_marked(const void *raw) const noexcept {
        std::uint64_t mark = 0;
        std::memcpy(&mark, static_cast<const std::byte *>(raw) + sizeof(void *), sizeof mark);
        return mark == mark_of(raw);
    }
    /// Whether an object can be there; otherwise reports what it is.
    bool is_live(const void *object) const noexcept {
        const bool is_mine = known_.contains(object);
        if (is_mine && !is_marked(object)) [[likely]]
            return true;
        report_misuse({is_mine ? Misuse::double_free : Misuse::foreign_free, object, sizeof(T), name});
        return false;
    }

    /// From the list to the source.
    void give_back(void *raw) noexcept {
        if constexpr (checked) {
            open(raw);
            annotate::defined(raw, size);
            known_.erase(static_cast<std::byte *>(raw) + guard::lead(alignment));
        }
        if constexpr (hardened) {
            set_mark(raw, 0);
            known_.erase(raw);
        }
        source_.deallocate(raw, size, alignment);
    }

    /// Whether what was on the list is unchanged; a write is reported. The link is not checked.
    static void open(void *raw) noexcept {
        guard::open(static_cast<std::byte *>(raw) + sizeof(Free), size - sizeof(Free), name);
    }

    void guarded_deallocate(void *object) noexcept {
        if (object == nullptr) return;
        if (!ledger_.discharge(object, guard::any_size, known_.contains(object), name)) return;
        void *const raw = guard::raw_of(object);
        guard::close(raw, size, guard::Fill::freed);
        annotate::undefined(raw, sizeof(Free));
        if (freelist_ == Freelist::off) return give_back(raw);
        put(raw);
        annotate::no_access(raw, sizeof(Free));
    }

    Free *free_ = nullptr;
    [[no_unique_address]] Links<PerClass> links_;
    [[no_unique_address]] Quarantined<PerClass> quarantine_;
    [[no_unique_address]] HeldCopy<Upstream> source_;
    Freelist freelist_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] KnownAddresses<SystemPages> known_;
    [[no_unique_address]] annotate::Pool<PerClass> pool_{name};
};

} // namespace reap::inline REAP_MODE
