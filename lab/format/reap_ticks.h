/* The counter that REAP_CLOCK_TSC names: the time stamp counter of x86-64, the virtual counter of aarch64.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_TICKS_H
#define REAP_TICKS_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* In ticks; about 8 ns. */
static inline uint64_t reap_ticks(void) { // NOLINT(modernize-redundant-void-arg): it is C, too
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
#error "no counter is known for this processor"
#endif
}

/* The same once what comes before it has been done: a block that is freed here and reallocated on another
 * core must not appear to be allocated first. */
static inline uint64_t reap_ticks_after(void) { // NOLINT(modernize-redundant-void-arg): as above
#if defined(__x86_64__)
    unsigned processor;
    return __rdtscp(&processor);
#else
    __asm__ volatile("isb" : : : "memory");
    return reap_ticks();
#endif
}

/* What comes after it reads memory later than the counter was read before it. */
static inline void reap_await_ticks(void) { // NOLINT(modernize-redundant-void-arg): as above
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#else
    __asm__ volatile("isb" : : : "memory");
#endif
}

#endif
