/* The file of libreap-requests.so: when each marked request began and ended.
 *
 * SPDX-License-Identifier: MIT
 *
 * One file holds a whole process tree. It is a sequence of blocks of REAP_REQUESTS_BLOCK_BYTES. Block 0
 * begins with struct reap_requests_file, which the launcher writes before the program starts and every
 * process maps. Every other block belongs to one thread at a time; the free part of an ended thread's block
 * is reused by a new thread. A block of zeros was reserved and never used. All integers are little-endian,
 * all times CLOCK_MONOTONIC in nanoseconds.
 */
#ifndef REAP_REQUESTS_H
#define REAP_REQUESTS_H

#include <stdint.h>

#define REAP_REQUESTS_MAGIC UINT64_C(0x3154535145525052)       /* "RPREQST1" */
#define REAP_REQUESTS_BLOCK_MAGIC UINT64_C(0x4b4c425145525052) /* "RPREQBLK" */
#define REAP_REQUESTS_BLOCK_BYTES 65536u

/* The maximum number of blocks of a file: a GiB, or 67 million requests of one process. */
#define REAP_REQUESTS_MOST_BLOCKS 16384u

/* The environment variable by which a process finds its file (an absolute path). */
#define REAP_REQUESTS_ENV "REAP_REQUESTS"

struct reap_requests_file {
    uint64_t magic;
    uint64_t next_block; /* (atomic) number of allocated blocks, block 0 included */
    uint64_t lost;       /* (atomic) requests not recorded: file or disk full, no permission to open it */
    uint64_t unmatched;  /* (atomic) ends without a beginning */
    uint64_t unfinished; /* (atomic) threads that ended within a request */
};

struct reap_request {
    uint64_t begin;
    uint64_t end;
};

struct reap_requests_block {
    uint64_t magic;
    uint64_t pid;
    uint64_t count; /* (release store) complete requests */
    uint64_t open;  /* when the thread's current request began; 0: there is none */
    uint64_t link;  /* private to the process: the next idle block */
    uint64_t reserved[3];
    struct reap_request requests[(REAP_REQUESTS_BLOCK_BYTES - 64) / sizeof(struct reap_request)];
};

#endif
