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
// In every runtime of ThreadSanitizer, in no header of it.
extern "C" void __tsan_write_range(void *address, unsigned long size);
#endif

// What the tools that watch memory are told. Everything here compiles to nothing where no tool is built in,
// and nothing else in the library names a tool.

namespace reap::inline REAP_MODE::annotate {

/// These bytes are nobody's: touching them is an error.
inline void no_access([[maybe_unused]] const void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_CHECKED && REAP_ASAN
    __asan_poison_memory_region(data, size);
#endif
#if REAP_MEMCHECK
    VALGRIND_MAKE_MEM_NOACCESS(data, size);
#endif
}

/// These bytes are an object's now, with no value yet.
inline void undefined([[maybe_unused]] const void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_CHECKED && REAP_ASAN
    __asan_unpoison_memory_region(data, size);
#endif
#if REAP_MEMCHECK
    VALGRIND_MAKE_MEM_UNDEFINED(data, size);
#endif
}

/// These bytes may be touched and have a value. Said of all memory before it goes back to where it came from,
/// since a mark that outlives the mapping would be found on whatever is mapped there next.
inline void defined([[maybe_unused]] const void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_CHECKED && REAP_ASAN
    __asan_unpoison_memory_region(data, size);
#endif
#if REAP_MEMCHECK
    VALGRIND_MAKE_MEM_DEFINED(data, size);
#endif
}

/// The object ends here. For ThreadSanitizer that is a write to all of it: a use that is not ordered with it
/// is a race.
inline void ended([[maybe_unused]] void *data, [[maybe_unused]] std::size_t size) noexcept {
#if REAP_TSAN
    __tsan_write_range(data, size);
#endif
}

#if REAP_MARK_POOLS
inline constinit thread_local unsigned quiet_depth = 0;
#endif

/// While one lives, pools tell nothing of this thread: what is handed out goes to a layer, which carves it or
/// tells of it itself.
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

/// What `call()` returns, Quiet meanwhile.
template <class Call>
[[gnu::always_inline]] inline decltype(auto) quietly(Call call) {
    const Quiet quiet;
    return call();
}

/// By which a Layer tells who measures drag (reap/mark.h) which objects its program has: a member, which
/// stands for the layer as long as that lives. A layer tells of an object before it is written to, and of its
/// end before its memory is used otherwise. Where REAP_MARK_POOLS is 0, all of it is nothing, and its type,
/// no other layer's, keeps it from taking room.
template <class Layer>
class Pool {
  public:
    struct Silent {};

    constexpr explicit Pool([[maybe_unused]] const char *name) noexcept {
#if REAP_MARK_POOLS
        if (!std::is_constant_evaluated()) reap_mark_pool_create(this, name);
#endif
    }
    /// That of a copy which is no layer, and never ends.
    constexpr explicit Pool(Silent /*tag*/) noexcept {}
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
#if REAP_MARK_POOLS
    ~Pool() { reap_mark_pool_destroy(this); }
#else
    ~Pool() = default;
#endif

    /// `size` bytes were asked for, and are at `object`, which is returned. Null is none.
    template <class Object>
    [[gnu::always_inline]] Object *handed_out(Object *object, std::size_t size) const noexcept {
        return handed_out_of(this, object, size);
    }
    void came_back([[maybe_unused]] const void *object) const noexcept {
#if REAP_MARK_POOLS
        if (object != nullptr && quiet_depth == 0) reap_mark_pool_free(this, object);
#endif
    }
    /// It has another size now, where it stands.
    void resized(const void *object, std::size_t size) const noexcept {
        came_back(object);
        handed_out(object, size);
    }
    /// That object comes back, and all that were handed out after it.
    void came_back_from([[maybe_unused]] const void *object) const noexcept {
#if REAP_MARK_POOLS
        if (object != nullptr && quiet_depth == 0) reap_mark_pool_rewind(this, object);
#endif
    }
    /// All objects come back.
    void emptied() const noexcept { emptied(this); }

    // Parts, for what may come back together while the layer goes on. `part` is any address that stands for
    // one; the layer itself is one, too.

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
    /// What that other part has is this one's.
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
