// A program of several modes, each with one fault and a twin without it:
//
//     PROGRAM NAME [SCALE [cured]]
//
// SCALE multiplies the work; 1 takes up to a second. `cured` does the same work without the fault. Each
// prints a sum that is the same in every run, with the fault and without.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cured;

struct mode {
    const char *name;
    void (*run)(double scale);
};

// The next number of a sequence that begins with the same seed in every run.
static inline uint64_t next_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

// Uses CPU time without memory: about a nanosecond per iteration.
static inline uint64_t compute(uint64_t turns, uint64_t seed) {
    for (uint64_t turn = 0; turn < turns; turn++) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

// Runs the mode that the words name, and returns the exit code.
static inline int run_mode(const struct mode *modes, size_t number, int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    const double scale = count > 2 ? atof(words[2]) : 1;
    cured = count > 3 && strcmp(words[3], "cured") == 0;
    for (size_t at = 0; at < number; at++)
        if (strcmp(modes[at].name, name) == 0) {
            modes[at].run(scale);
            return 0;
        }
    fprintf(stderr, "usage: %s NAME [SCALE [cured]]\n", words[0]);
    return 2;
}
