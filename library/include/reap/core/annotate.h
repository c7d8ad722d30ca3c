#pragma once

#include <cstddef>
#include <type_traits>

#include "reap/core/mode.h"

#if REAP_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if REAP_MEMCHECK
#include <valgrind/memcheck.h>
#endif
#if REAP_MARK_POOLS
#include "reap/mark.h"
#endif
#if REAP_TSAN
// Part of every ThreadSanitizer runtime, but declared in no header.
extern "C" void __tsan_write_range(void *address, unsigned long size);
#endif

// Annotations for memory-checking tools. Everything here compiles to nothing where no tool is built in, and
// nothing else in the library names a tool.

namespace reap::inline REAP_MODE::annotate {

/// Marks the bytes as inaccessible: touching them is an error.
inline void no_access([[maybe_unused]] const void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_CHECKED && REAP_ASAN
    __asan_poison_memory_region(data, size);
#endif
#if REAP_MEMCHECK
    VALGRIND_MAKE_MEM_NOACCESS(data, size);
#endif
}

// Only checked layers poison memory. But users do as well, such as containers what they do not use yet, and
// free it so: whatever the mode, memory that changes hands is accessible.

/// Marks the bytes as belonging to an object, accessible but uninitialized.
inline void undefined([[maybe_unused]] const void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_ASAN
    __asan_unpoison_memory_region(data, size);
#endif
#if REAP_MEMCHECK
    VALGRIND_MAKE_MEM_UNDEFINED(data, size);
#endif
}

/// Marks the bytes as accessible and initialized. Required of all memory before it is returned to its source,
/// since a mark that outlives the mapping would apply to whatever is mapped there next.
inline void defined([[maybe_unused]] const void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_ASAN
    __asan_unpoison_memory_region(data, size);
#endif
#if REAP_MEMCHECK
    VALGRIND_MAKE_MEM_DEFINED(data, size);
#endif
}

/// Clears what a user poisoned. Checked layers need no call: they mark all their memory themselves.
inline void forget([[maybe_unused]] const void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_ASAN && !REAP_CHECKED
    __asan_unpoison_memory_region(data, size);
#endif
}

/// Ends the object. ThreadSanitizer sees a write to all of it, so a use that is not ordered with it is a
/// race.
inline void ended([[maybe_unused]] void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_TSAN
    __tsan_write_range(data, size);
#endif
}

#if REAP_MARK_POOLS
inline constinit thread_local unsigned quiet_depth = 0;
#endif

/// While one exists, pools report nothing for this thread: what is allocated goes to a layer, which carves it
/// up or reports it itself.
class Quiet {
  public:
#if REAP_MARK_POOLS
    Quiet() noexcept { ++quiet_depth; }
    ~Quiet() { --quiet_depth; }
#else
    Quiet() noexcept {} // NOLINT(modernize-use-equals-default): or each would be an unused variable
#endif
    Quiet(const Quiet &) = delete;
    Quiet &operator=(const Quiet &) = delete;
};

/// Returns `call()`, with reporting suppressed meanwhile.
template <class Call>
[[gnu::always_inline]] inline decltype(auto) quietly(Call call) {
    const Quiet quiet;
    return call();
}

/// Reports a layer's objects to whoever measures drag (reap/mark.h). It is a member, which identifies the
/// layer as long as that lives. A layer reports an object before it is written to, and its end before its
/// memory is reused. Where REAP_MARK_POOLS is 0, all of it compiles to nothing, and its type, unique to the
/// layer, keeps it from taking room.
template <class Layer>
class Pool {
  public:
    struct Silent {};

    constexpr explicit Pool([[maybe_unused]] const char *name) noexcept {
#if REAP_MARK_POOLS
        if (!std::is_constant_evaluated()) reap_mark_pool_create(this, name);
#endif
    }
    /// For a copy that is not a layer, and never ends.
    constexpr explicit Pool(Silent /*tag*/) noexcept {}
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
#if REAP_MARK_POOLS
    ~Pool() { reap_mark_pool_destroy(this); }
#else
    ~Pool() = default;
#endif

    /// Reports that `size` bytes were requested and are at `object`, and returns `object`. Null is ignored.
    template <class Object>
    [[gnu::always_inline]] Object *handed_out(Object *object, std::size_t size) const noexcept {
        return handed_out_of(this, object, size);
    }
    void came_back([[maybe_unused]] const void *object) const noexcept {
#if REAP_MARK_POOLS
        if (object != nullptr && quiet_depth == 0) reap_mark_pool_free(this, object);
#endif
    }
    /// The object has another size now, at the same address.
    void resized(const void *object, std::size_t size) const noexcept {
        came_back(object);
        handed_out(object, size);
    }
    /// Frees that object and all allocated after it.
    void came_back_from([[maybe_unused]] const void *object) const noexcept {
#if REAP_MARK_POOLS
        if (object != nullptr && quiet_depth == 0) reap_mark_pool_rewind(this, object);
#endif
    }
    /// Frees all objects.
    void emptied() const noexcept { emptied(this); }

    // Parts: objects that may be freed together while the layer goes on. `part` is any address that
    // identifies one; the layer itself is one, too.

    static void begin_part([[maybe_unused]] const void *part) noexcept {
#if REAP_MARK_POOLS
        reap_mark_pool_create(part, "mark");
#endif
    }
    static void end_part([[maybe_unused]] const void *part) noexcept {
#if REAP_MARK_POOLS
        reap_mark_pool_destroy(part);
#endif
    }
    /// Moves what belongs to that other part to this one.
    static void merge([[maybe_unused]] const void *into, [[maybe_unused]] const void *from) noexcept {
#if REAP_MARK_POOLS
        reap_mark_pool_merge(into, from);
#endif
    }
    static void emptied([[maybe_unused]] const void *part) noexcept {
#if REAP_MARK_POOLS
        reap_mark_pool_clear(part);
#endif
    }
    template <class Object>
    [[gnu::always_inline]] static Object *handed_out_of([[maybe_unused]] const void *part, Object *object,
                                                        [[maybe_unused]] std::size_t size) noexcept {
        if (REAP_ASAN && object != nullptr) forget(object, size);
#if REAP_MARK_POOLS
        if (object != nullptr && quiet_depth == 0) reap_mark_pool_alloc(part, object, size);
#endif
        return object;
    }

  private:
#if REAP_MARK_POOLS
    char unlike_any_other_address_ = 0;
#endif
};

} // namespace reap::inline REAP_MODE::annotate
