#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "reap/core/address_set.h"
#include "reap/core/annotate.h"
#include "reap/core/failure.h"
#include "reap/core/guard.h"
#include "reap/core/source.h"
#include "reap/source/malloc.h"
#include "reap/source/system_pages.h"

namespace reap::inline REAP_MODE {

/// Whether a PerClass keeps what is freed.
enum class Freelist {
    on,
    off, ///< each object goes back to the source at once: the naive variant of an experiment
};

/// The per-class allocator of the papers: objects of one type, each by itself from the source, and those that
/// were freed on a list for the next to come.
///
/// It has no chunks, so it neither frees all objects together nor knows them: what lives at its end stays
/// with the source and is lost. Objects lie where the source put them. It is not thread-safe (PerThread,
/// Locked), and can be neither copied nor moved.
///
/// Where objects die and are made by the million it saves what malloc does beyond a list, which with today's
/// malloc is little (2.3 % of boxed-sim over mimalloc, ISMM 2026); a Mempool or FixedBlock is nearly always
/// the better choice. It is here to be compared with, and for sources that must see each object.
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

    /// Memory for a T; throws what the source throws, else std::bad_alloc.
    [[nodiscard, gnu::returns_nonnull]] void *allocate() {
        return pool_.handed_out(take<Failure::throws>(), sizeof(T));
    }
    /// The same, or null.
    [[nodiscard]] void *try_allocate() noexcept {
        return pool_.handed_out(take<Failure::returns_null>(), sizeof(T));
    }

    /// Takes such memory back.
    void deallocate(void *object) noexcept {
        if constexpr (checked) return guarded_deallocate(object);
        if (object == nullptr) return;
        annotate::ended(object, sizeof(T));
        pool_.came_back(object);
        put(object);
    }

    /// Makes a T. Throws as allocate() and as T's constructor; then nothing is left behind.
    template <class... Arguments>
    [[nodiscard, gnu::returns_nonnull]] T *create(Arguments &&...arguments) {
        Unfinished memory{*this, allocate()};
        T *const object = ::new (memory.data) T(std::forward<Arguments>(arguments)...);
        memory.data = nullptr;
        return object;
    }

    /// Ends a T that create() made. Null is none.
    void destroy(T *object) noexcept {
        if (object == nullptr) return;
        if constexpr (checked) {
            if (!ledger_.check(object, guard::any_size, known_.contains(object), name)) return;
        }
        object->~T();
        deallocate(object);
    }

    /// Gives all on the list back to the source.
    void release() noexcept {
        while (free_ != nullptr) give_back(pop());
    }

    /// How many objects are on the list. Costs time in their number.
    [[nodiscard]] std::size_t free_objects() const noexcept {
        std::size_t count = 0;
        for (const Free *free = free_; free != nullptr; ++count) {
            const Opened window(free);
            free = free->next;
        }
        return count;
    }
    [[nodiscard]] Freelist freelist() const noexcept { return freelist_; }
    [[nodiscard]] const Upstream &source() const noexcept { return source_; }

  private:
    static constexpr const char *name = "PerClass";

    struct Free {
        Free *next;
    };
    struct NoWindow {
        explicit NoWindow(const Free * /*free*/) noexcept {}
        NoWindow(const NoWindow &) = delete;
        NoWindow &operator=(const NoWindow &) = delete;
    };
    struct Window : guard::detail::Window {
        explicit Window(const Free *free) noexcept : guard::detail::Window(free, sizeof *free) {}
    };
    /// Lets a link be looked at in checked mode, where free memory is closed.
    using Opened = std::conditional_t<checked, Window, NoWindow>;
    /// Memory for an object whose constructor may still throw.
    struct Unfinished {
        PerClass &owner;
        void *data;
        ~Unfinished() {
            if (data != nullptr) owner.deallocate(data);
        }
    };

    static constexpr std::size_t alignment = std::max(alignof(T), checked ? 16 : alignof(Free));
    static constexpr std::size_t size =
        checked ? guard::padded(sizeof(T), alignment) : std::max(sizeof(T), sizeof(Free));

    template <Failure F>
    [[gnu::always_inline]] void *take() noexcept(F == Failure::returns_null) {
        if (free_ == nullptr) [[unlikely]]
            return ask<F>();
        void *const raw = pop();
        if constexpr (checked) {
            open(raw);
            return ledger_.admit(raw, sizeof(T), alignment);
        }
        return raw;
    }

    template <Failure F>
    [[gnu::noinline]] void *ask() noexcept(F == Failure::returns_null) {
        const annotate::Quiet quiet;
        void *const raw = obtain<F>(source_, size, alignment);
        if constexpr (checked) {
            if (raw == nullptr) return nullptr;
            void *const object = ledger_.admit(raw, sizeof(T), alignment);
            if (known_.insert(object)) return object;
            ledger_.discharge(object, guard::any_size, true, name);
            annotate::defined(raw, size);
            source_.deallocate(raw, size, alignment);
            return fail<F>();
        }
        return raw;
    }

    void *pop() noexcept {
        Free *const free = free_;
        const Opened window(free);
        free_ = free->next;
        return free;
    }

    [[gnu::always_inline]] void put(void *raw) noexcept {
        if (freelist_ == Freelist::off) [[unlikely]]
            return source_.deallocate(raw, size, alignment);
        free_ = ::new (raw) Free{free_};
    }

    /// From the list to the source.
    void give_back(void *raw) noexcept {
        if constexpr (checked) {
            open(raw);
            annotate::defined(raw, size);
            known_.erase(static_cast<std::byte *>(raw) + guard::lead(alignment));
        }
        source_.deallocate(raw, size, alignment);
    }

    /// Whether what was on the list was left alone; a write is reported. The link is not looked at.
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
    [[no_unique_address]] Upstream source_;
    Freelist freelist_;
    [[no_unique_address]] Ledger ledger_;
    [[no_unique_address]] KnownAddresses<SystemPages> known_;
    [[no_unique_address]] annotate::Pool<PerClass> pool_{name};
};

} // namespace reap::inline REAP_MODE
