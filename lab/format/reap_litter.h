/* The litter file, version 1: how a preload shall fragment heaps before a program runs, and its reports.
 *
 * SPDX-License-Identifier: MIT
 *
 * Written whole by the lab (reap.launch.litter.file) before the program starts: the header, the table of
 * sizes, and zeroed slots for reports. Every process of the tree maps it shared, reads the first two and
 * fills slots, so that a report survives however the process ends. Processes write only to the slots and to
 * fields marked (atomic). Little-endian; freestanding C11 / C++20.
 */
#ifndef REAP_LITTER_H
#define REAP_LITTER_H

#include <stdint.h>

#define REAP_LITTER_MAGIC UINT64_C(0x315254494c504152) /* "RAPLITR1" */
#define REAP_LITTER_VERSION 1u

/* The environment variable by which a process finds its file (an absolute path). */
#define REAP_LITTER_ENV "REAP_LITTER"

/* The order in which the blocks that are not kept are freed. */
enum reap_litter_order { REAP_LITTER_RANDOM = 0, REAP_LITTER_ADDRESS = 1, REAP_LITTER_REVERSED = 2 };

struct reap_litter_header {
    uint64_t magic;
    uint32_t version;
    uint32_t size_count;    /* entries of the table of sizes, right behind this header */
    uint32_t report_offset; /* where the slots begin; a multiple of 8 */
    uint32_t report_slots;
    uint64_t objects; /* to allocate in each process, by all its littering threads together */
    uint64_t kept;    /* how many of these stay allocated; at most `objects` */
    uint64_t seed;
    uint64_t
        needed_bytes;  /* memory that all objects of a process are expected to take, bookkeeping included */
    uint32_t order;    /* enum reap_litter_order */
    uint32_t touch;    /* 1: write to every page of every block */
    uint32_t children; /* 1: every program of the tree is littered */
    uint32_t threads;  /* how many share the litter: the first thread and those created next; at least 1 */
    uint32_t next_report;  /* (atomic) slots requested; more than exist if reports were lost */
    uint32_t deepbind;     /* (atomic) how often a library was opened with RTLD_DEEPBIND */
    uint64_t device;       /* of the executable whose first process is littered, and its inode; */
    uint64_t inode;        /* 0: whatever is executed first. Those before it pass the file on */
    uint64_t event_config; /* what each littering counts beside, as perf_event_attr has it; */
    uint32_t event_type;
    uint32_t count;      /* 1: it does */
    uint32_t over_glibc; /* 1: only the lab's own recorder is preloaded before the C library's malloc */
    uint32_t reserved[3];
};

struct reap_litter_size {
    uint64_t size;
    uint64_t count; /* objects are drawn in proportion to it; at least 1 */
};

/* The limits of the exact arithmetic of sampling sizes. */
#define REAP_LITTER_MOST_SIZES 65535u
#define REAP_LITTER_MOST_COUNT (UINT64_C(1) << 47) /* of all sizes together */

enum reap_litter_state {
    REAP_LITTER_UNUSED = 0,
    REAP_LITTER_BEGUN = 1, /* in progress, or the process died of it */
    REAP_LITTER_DONE = 2,
    REAP_LITTER_FAILED = 3 /* everything was freed, and the program ran with a clean heap */
};

enum reap_litter_failure {
    REAP_LITTER_NO_FAILURE = 0,
    REAP_LITTER_REFUSED = 1,        /* the machine has too little memory for the litter */
    REAP_LITTER_NO_BOOKKEEPING = 2, /* mmap failed for the list of blocks */
    REAP_LITTER_NO_MEMORY = 3       /* the allocator returned null */
};

#define REAP_LITTER_UNCOUNTED UINT64_MAX

/* What one thread did before it, or its program, started. Times in nanoseconds, memory in bytes. */
struct reap_litter_report {
    uint32_t state;   /* enum reap_litter_state */
    uint32_t failure; /* enum reap_litter_failure */
    uint32_t pid;
    uint32_t thread; /* 0: the first of its process; else the number of a created thread */
    uint64_t objects;
    uint64_t bytes; /* asked for, as the two below */
    uint64_t kept;
    uint64_t kept_bytes;
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    uint64_t end_ns;
    uint64_t user_ns; /* of this thread alone, as the faults */
    uint64_t system_ns;
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t resident_before; /* of the process; 0, as the next, but in its first thread's report */
    uint64_t resident_after;
    uint64_t events; /* of this thread in user mode; REAP_LITTER_UNCOUNTED if they were not counted */
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint32_t beside;    /* 1: its creator did not wait for its end, so the program ran meanwhile */
    char provider[116]; /* the end of the path of the file that provides malloc; empty if unknown */
};

#endif
