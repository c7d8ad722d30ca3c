#pragma once

// How these headers are compiled in this translation unit, and the inline namespace that says so.
//
// A setting that changes what a layer looks like in memory, or what it tells a tool about memory, is part of
// every name in `reap`. Objects that were built with different settings therefore link and run side by side,
// each with its own layers; passing a layer from one to the other fails at link. NDEBUG and the optimiser
// change nothing here.
//
//   REAP_CHECKED   1: layers keep guard zones and report misuse (core/guard.h). Default: 1 under
//   AddressSanitizer, else 0. REAP_MEMCHECK  1: checked layers tell Valgrind's memcheck what may be touched.
//   Default: 1 where its header is found.
//   REAP_TSAN  0: -fsanitize=thread is there for something else than ThreadSanitizer.
//   REAP_MARK_POOLS  1: layers say what they hand out (reap/mark.h), for who measures drag. Default: 0.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REAP_ASAN 1
#endif
#if __has_feature(thread_sanitizer) && !defined(REAP_TSAN)
#define REAP_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define REAP_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(REAP_TSAN)
#define REAP_TSAN 1
#endif
#if !defined(REAP_ASAN)
#define REAP_ASAN 0
#endif
#if !defined(REAP_TSAN)
#define REAP_TSAN 0
#endif

#if !defined(REAP_CHECKED)
#define REAP_CHECKED REAP_ASAN
#endif
#if !defined(REAP_MEMCHECK)
#if REAP_CHECKED && !REAP_ASAN && __has_include(<valgrind/memcheck.h>)
#define REAP_MEMCHECK 1
#else
#define REAP_MEMCHECK 0
#endif
#endif

#if !defined(REAP_MARK_POOLS)
#define REAP_MARK_POOLS 0
#endif
#if REAP_MARK_POOLS && (REAP_CHECKED || REAP_TSAN)
#error                                                                                                       \
    "REAP_MARK_POOLS is for layers as they are used: guard zones and race detection touch freed objects. \
Build without REAP_CHECKED and without sanitizers."
#endif

#if REAP_MARK_POOLS && defined(REAP_MARK_VALGRIND) && REAP_MARK_VALGRIND
#define REAP_MODE v0_marked_valgrind
#elif REAP_MARK_POOLS
#define REAP_MODE v0_marked
#elif REAP_CHECKED && REAP_ASAN
#define REAP_MODE v0_checked_asan
#elif REAP_CHECKED && REAP_TSAN
#define REAP_MODE v0_checked_tsan
#elif REAP_CHECKED && REAP_MEMCHECK
#define REAP_MODE v0_checked_memcheck
#elif REAP_CHECKED
#define REAP_MODE v0_checked
#elif REAP_TSAN
#define REAP_MODE v0_tsan
#else
#define REAP_MODE v0
#endif

namespace reap::inline REAP_MODE {

/// Whether layers here guard their objects and report misuse.
inline constexpr bool checked = REAP_CHECKED != 0;

} // namespace reap::inline REAP_MODE
