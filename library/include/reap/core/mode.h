#pragma once

// How these headers are compiled in this translation unit, and the inline namespace that encodes it.
//
// A setting that changes a layer's memory layout, or its annotations for tools, is part of every name in
// `reap`. Objects built with different settings therefore link and run side by side, each with its own
// layers; passing a layer from one to the other fails at link time. NDEBUG and the optimiser change nothing
// here.
//
//   REAP_CHECKED   1: layers keep guard zones and report misuse (core/guard.h). Default: 1 under
//   AddressSanitizer unless REAP_HARDENED is 1, else 0.
//   REAP_MEMCHECK  1: checked layers tell Valgrind's memcheck what may be touched. Default: 1 where its
//   header is found. REAP_HARDENED  1: links in freed memory are encoded, freed blocks wait before they are
//   used again, and frees are checked (core/link.h, core/quarantine.h). For production. Default: 0. Not with
//   REAP_CHECKED. REAP_QUARANTINE  how many freed blocks of a hardened layer wait, 0 to 4096, in digits
//   alone. Default: 16. REAP_TSAN  0: -fsanitize=thread is there for something else than ThreadSanitizer.
//   REAP_MARK_POOLS  1: layers report what they allocate (reap/mark.h), for who measures drag. Default: 0.
//   REAP_PREBUILT  1: link the default layers' code from the library that CMake calls Reap::prebuilt, which
//   defines this, instead of compiling it. Default: 0. Ignored where that library lacks the mode: under
//   sanitizers and memcheck, with REAP_MARK_POOLS, and with another quarantine than the default.

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

#if !defined(REAP_HARDENED)
#define REAP_HARDENED 0
#endif
#if !defined(REAP_CHECKED)
#define REAP_CHECKED (REAP_ASAN && !REAP_HARDENED)
#endif
#if REAP_HARDENED && REAP_CHECKED
#error                                                                                                       \
    "REAP_HARDENED and REAP_CHECKED exclude each other: hardened mode is for production, checked mode for \
tests. Define one of them as 1."
#endif
#if !defined(REAP_QUARANTINE)
#define REAP_QUARANTINE 16
#endif
#if REAP_QUARANTINE < 0 || REAP_QUARANTINE > 4096
#error "REAP_QUARANTINE is a number of blocks, 0 to 4096."
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
#if !defined(REAP_PREBUILT)
#define REAP_PREBUILT 0
#elif REAP_PREBUILT && (REAP_ASAN || REAP_TSAN || REAP_MEMCHECK || REAP_MARK_POOLS || REAP_QUARANTINE != 16)
#undef REAP_PREBUILT
#define REAP_PREBUILT 0
#endif
#if REAP_MARK_POOLS && (REAP_CHECKED || REAP_HARDENED || REAP_TSAN)
#error                                                                                                       \
    "REAP_MARK_POOLS is for plain layers: guard zones, encoded links and race detection touch freed objects. \
Build without REAP_CHECKED, without REAP_HARDENED and without sanitizers."
#endif

// Each hardened layer contains the quarantine, so its length is part of the name.
#define REAP_MODE_OF(name, quarantine) REAP_MODE_JOIN(name, quarantine)
#define REAP_MODE_JOIN(name, quarantine) name##quarantine

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
#elif REAP_HARDENED && REAP_TSAN
#define REAP_MODE REAP_MODE_OF(v0_hardened_tsan_, REAP_QUARANTINE)
#elif REAP_HARDENED
#define REAP_MODE REAP_MODE_OF(v0_hardened_, REAP_QUARANTINE)
#elif REAP_TSAN
#define REAP_MODE v0_tsan
#else
#define REAP_MODE v0
#endif

namespace reap::inline REAP_MODE {

/// Whether layers here guard their objects and report misuse.
inline constexpr bool checked = REAP_CHECKED != 0;
/// Whether layers here encode their links, quarantine freed blocks and check frees.
inline constexpr bool hardened = REAP_HARDENED != 0;

} // namespace reap::inline REAP_MODE
