/* The file in which the preloads of lab/preload/price report, version 1.
 *
 * SPDX-License-Identifier: MIT
 *
 * Created whole by the lab (reap.launch.price) before the program starts. Every process of the tree maps it
 * shared and claims a slot, so that a report survives however the process ends; when slots run out, processes
 * share the last one. Little-endian; freestanding C11 / C++20.
 */
#ifndef REAP_PRICE_H
#define REAP_PRICE_H

#include <stdint.h>

#define REAP_PRICE_MAGIC UINT64_C(0x3143525050414552) /* "REAPPRC1" */
#define REAP_PRICE_SLOTS 1023u

/* The environment variable by which a process finds its file (an absolute path). */
#define REAP_PRICE_ENV "REAP_PRICE"

/* The most memory, in bytes, that one process may take for what it never frees. */
#define REAP_PRICE_BYTES_ENV "REAP_PRICE_BYTES"

/* The cost of one process that is not the program's. All fields are (atomic). */
struct reap_price_slot {
    uint64_t pid;
    uint64_t touch_ns;     /* CPU time spent on touching memory ahead */
    uint64_t free_ns;      /* an estimate of what the kernel needs to free it when the process ends */
    uint64_t touch_faults; /* minor page faults of it */
    uint64_t touched;      /* bytes of it */
    uint64_t ended;        /* 1: memory ended before the program did, and it went on as an ordinary malloc */
    uint64_t reserved[2];
};

struct reap_price_file {
    uint64_t magic;
    uint64_t next_slot; /* (atomic) slots claimed; may exceed REAP_PRICE_SLOTS */
    uint64_t reserved[6];
    struct reap_price_slot slots[REAP_PRICE_SLOTS];
};

#endif
