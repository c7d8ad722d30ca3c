// A program whose cause is known by construction.
//
//     cause NAME [SCALE [cured]]
//
// SCALE multiplies the work; 1 takes a second or two. `cured` does the same work without the bottleneck;
// supported by all but many, returned, lazy and nothing. Prints a sum that is the same in every run.
#include "cause.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*run)(double scale);
} modes[] = {
    {"tcache", cause_tcache},
    {"arena", cause_arena},
    {"brk", cause_brk},
    {"mmap", cause_mmap},
    {"faults", cause_faults},
    {"pin", cause_pin},
    {"lazy", cause_lazy},
    {"many", cause_many},
    {"parse", cause_parse},
    {"lock", cause_lock},
    {"disk", cause_disk},
    {"network", cause_network},
    {"nothing", cause_nothing},
    {"returned", cause_returned},
    {"calloc", cause_calloc},
    {"leak", cause_leak},
    {"fresh", cause_fresh},
    {"live", cause_live},
    {"arenas", cause_arenas},
    {"scattered", cause_scattered},
    {"slow-leak", cause_slow_leak},
    {"contiguous", cause_contiguous},
    {"locality", cause_locality},
};

int cured;

uint64_t compute(uint64_t turns, uint64_t seed) {
    for (uint64_t turn = 0; turn < turns; turn++) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

static void *nothing_to_do(void *unused) { return unused; }

void become_threaded(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing_to_do, NULL) == 0) pthread_join(thread, NULL);
}

int main(int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    const double scale = count > 2 ? atof(words[2]) : 1;
    cured = count > 3 && strcmp(words[3], "cured") == 0;
    for (size_t at = 0; at < sizeof modes / sizeof *modes; at++)
        if (strcmp(modes[at].name, name) == 0) {
            modes[at].run(scale);
            return 0;
        }
    fprintf(stderr, "usage: cause NAME [SCALE [cured]]\n");
    return 2;
}
