#pragma once

#include <cstddef>

#include "reap/core/mode.h"

#if REAP_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if REAP_MEMCHECK
#include <valgrind/memcheck.h>
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

} // namespace reap::inline REAP_MODE::annotate
