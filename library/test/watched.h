#pragma once

#include "reap/core/mode.h"

#if REAP_ASAN
#include <sanitizer/asan_interface.h>
#endif
#if REAP_MEMCHECK
#include <valgrind/memcheck.h>
#endif

// What the tool that watches this program believes, if there is one.

/// Whether layers here tell a tool what may be touched, and it listens.
inline bool is_watched() {
#if REAP_CHECKED && REAP_ASAN
    return true;
#elif REAP_MEMCHECK
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}

/// Whether the tool complains if this byte is touched.
inline bool is_closed([[maybe_unused]] const void *address) {
#if REAP_CHECKED && REAP_ASAN
    return __asan_address_is_poisoned(address) != 0;
#elif REAP_MEMCHECK
    unsigned char bits = 0;
    return VALGRIND_GET_VBITS(address, &bits, 1) == 3;
#else
    return false;
#endif
}

/// Whether the byte may be written but has no value yet; memcheck alone knows.
inline bool is_undefined([[maybe_unused]] const void *address) {
#if REAP_MEMCHECK
    unsigned char bits = 0;
    return VALGRIND_GET_VBITS(address, &bits, 1) == 1 && bits == 0xFF;
#else
    return true;
#endif
}
