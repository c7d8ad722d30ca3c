// Programs with one bottleneck each: every mode is one, and does almost nothing else.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

// From heap.c: limited by the allocator, or by memory that it keeps.
void cause_tcache(double scale);
void cause_arena(double scale);
void cause_brk(double scale);
void cause_mmap(double scale);
void cause_faults(double scale);
void cause_pin(double scale);
void cause_returned(double scale);
void cause_calloc(double scale);
void cause_leak(double scale);
void cause_fresh(double scale);
void cause_lazy(double scale);
void cause_many(double scale);

// From memory.c: block placement and lifetimes.
void cause_scattered(double scale);
void cause_contiguous(double scale);
void cause_arenas(double scale);
void cause_slow_leak(double scale);
void cause_live(double scale);
void cause_locality(double scale);

// From other.c: limited by something else.
void cause_parse(double scale);
void cause_lock(double scale);
void cause_disk(double scale);
void cause_network(double scale);
void cause_nothing(double scale);

// Whether to do the work without the bottleneck.
extern int cured;

// The next number of a sequence that begins with the same seed in every run.
static inline uint64_t next_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

// Uses CPU time without memory: about a nanosecond per iteration.
uint64_t compute(uint64_t turns, uint64_t seed);

// Keeps memory resident for so many milliseconds, or for $STAY.
static inline void stay_for(unsigned milliseconds) {
    const char *asked = getenv("STAY");
    usleep(1000 * (asked != NULL ? (unsigned)strtoul(asked, NULL, 10) : milliseconds));
}

// Creates a thread and waits for its end: from then on the C library takes its locks, as in any
// multi-threaded program.
void become_threaded(void);
