/* Drag samples, version 3: the lifetimes of the sampled objects, and when each was last used.
 *
 * SPDX-License-Identifier: MIT
 *
 * Every process of the tree creates a file of its own, maps it shared and fills rows in place, so that the
 * data survives however the process ends: the header, then the rows. A time is the number of bytes that the
 * process had allocated by then. Little-endian; freestanding C11 / C++20.
 */
#ifndef REAP_DRAG_SAMPLES_H
#define REAP_DRAG_SAMPLES_H

#include <stdint.h>

#define REAP_DRAG_SAMPLES_MAGIC UINT64_C(0x33534d4147415244) /* "DRAGAMS3" */

/* The environment variable with the prefix of the files' names, an absolute path; ".PID" follows, and ".N" if
 * one process executes several programs. */
#define REAP_DRAG_SAMPLES_ENV "REAP_DRAG_SAMPLES"
/* The sampling period in bytes; 0 or unset: chosen by the engine, which increases it if sampling costs too
 * much. A given period is fixed. */
#define REAP_DRAG_PERIOD_ENV "REAP_DRAG_PERIOD"

enum reap_drag_problem {
    REAP_DRAG_SAMPLES_NONE = 0,
    /* the address space or shared memory for samples was refused, or the program has limited or locked it
       since */
    REAP_DRAG_SAMPLES_NO_MEMORY = 1,
    REAP_DRAG_SAMPLES_NO_PAGEMAP = 2, /* /proc/self/pagemap cannot be read: accesses cannot be detected */
    REAP_DRAG_SAMPLES_FULL = 3,       /* no more space for samples or for their windows */
};

#define REAP_DRAG_FRAMES 12     /* recorded of a stack */
#define REAP_DRAG_MODULES 16384 /* bytes for the names of their files */

struct reap_drag_samples {
    uint64_t magic;
    uint32_t pid;
    uint32_t problem;  /* enum reap_drag_problem; earlier samples are valid */
    uint64_t rows;     /* rows in use */
    uint64_t clock;    /* bytes allocated so far */
    uint64_t modules;  /* bytes of names in use */
    uint64_t spent_ns; /* in the engine */
    uint64_t ended;    /* 1: the process exited normally, and every live object was checked */
    uint64_t reserved_2;
    char program[256];              /* the executable */
    char module[REAP_DRAG_MODULES]; /* the names of files, each ended by a zero byte; the first is number 1 */
};

struct reap_drag_sample {
    uint64_t size;
    uint64_t stands; /* the allocated bytes that it represents: the length of the strata in which it was
                        sampled; its own size if it is always sampled */
    uint64_t birth;
    uint64_t death; /* when it was freed, or the process ended; 0 while it lives */
    double used;    /* estimate of last access - birth: the sum of the intervals in bytes of the checks before
                       the    last detected access */
    double used_2;  /* the sum of their squares */
    double unsure;  /* the same of the checks since that access, not in `used` */
    double unsure_2;
    uint64_t frames[REAP_DRAG_FRAMES]; /* its allocation stack, innermost first: the file's number << 48 | the
                                          address of the call in it; number 0: no file; 0: no more frames */
};

#endif
