/* The samples of drag, version 3: what became of the objects that were drawn, and when each was last used.
 *
 * SPDX-License-Identifier: MIT
 *
 * Every process of the tree makes a file of its own, maps it shared and fills rows in place, so that what is
 * known outlives whatever ends the process: the header, then the rows. A time is the number of bytes that
 * the process had allocated by then. Little-endian; freestanding C11 / C++20.
 */
#ifndef REAP_DRAG_SAMPLES_H
#define REAP_DRAG_SAMPLES_H

#include <stdint.h>

#define REAP_DRAG_SAMPLES_MAGIC UINT64_C(0x33534d4147415244) /* "DRAGAMS3" */

/* The environment variable with the beginning of the files' names, an absolute path; ".PID" follows, and
 * ".N" where one process executes several programs. */
#define REAP_DRAG_SAMPLES_ENV "REAP_DRAG_SAMPLES"
/* The bytes of which one is drawn; 0 or none: the engine's own choice, which it widens where sampling costs
 * more than it may. One that is given stays. */
#define REAP_DRAG_PERIOD_ENV "REAP_DRAG_PERIOD"

enum reap_drag_problem {
    REAP_DRAG_SAMPLES_NONE = 0,
    /* the address space or the shared memory for samples was refused, or is limited or locked by the program
       since */
    REAP_DRAG_SAMPLES_NO_MEMORY = 1,
    REAP_DRAG_SAMPLES_NO_PAGEMAP = 2, /* /proc/self/pagemap cannot be read: no access can be seen */
    REAP_DRAG_SAMPLES_FULL = 3,       /* no more room for samples or for their windows */
};

#define REAP_DRAG_FRAMES 12     /* of a stack that are kept */
#define REAP_DRAG_MODULES 16384 /* bytes for the names of the files that they lie in */

struct reap_drag_samples {
    uint64_t magic;
    uint32_t pid;
    uint32_t problem;  /* enum reap_drag_problem; what was sampled before it is good */
    uint64_t rows;     /* rows in use */
    uint64_t clock;    /* bytes allocated so far */
    uint64_t modules;  /* bytes of names in use */
    uint64_t spent_ns; /* in the engine */
    uint64_t ended;    /* 1: the process came to its own end, and every living object was looked at */
    uint64_t reserved_2;
    char program[256];              /* the executable */
    char module[REAP_DRAG_MODULES]; /* the names of files, each ended by a zero byte; the first is number 1 */
};

struct reap_drag_sample {
    uint64_t size;
    uint64_t stands; /* for so many bytes allocated: the strata, one byte of each of which was drawn, that it
                        was drawn in; its size for what is drawn always */
    uint64_t birth;
    uint64_t death; /* when it was freed, or the process ended; 0 while it lives */
    double used;    /* estimate of last access - birth: looks came at it every so many bytes; the sum of these
                       intervals over the looks that came before the last access that was seen */
    double used_2;  /* the sum of their squares */
    double unsure;  /* of the looks since that access, not in `used` */
    double unsure_2;
    uint64_t frames[REAP_DRAG_FRAMES]; /* who asked for it, innermost first: the file's number << 48 | the
                                          address of the call in it; number 0: no file; 0: no more frames */
};

#endif
