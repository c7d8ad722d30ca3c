/* What libreap-requests.so writes: when each marked request began and ended.
 *
 * SPDX-License-Identifier: MIT
 *
 * One file holds a whole process tree. It is a sequence of blocks of REAP_REQUESTS_BLOCK_BYTES. Block 0
 * begins with struct reap_requests_file, which the launcher writes before the program starts and every
 * process maps. Every other block belongs to one thread at a time; a thread that ends leaves what is free of
 * it to one that begins. A block of zeros was reserved and never used. All integers are little-endian, all
 * times CLOCK_MONOTONIC in nanoseconds.
 */
#ifndef REAP_REQUESTS_H
#define REAP_REQUESTS_H

#include <stdint.h>

#define REAP_REQUESTS_MAGIC UINT64_C(0x3154535145525052)       /* "RPREQST1" */
#define REAP_REQUESTS_BLOCK_MAGIC UINT64_C(0x4b4c425145525052) /* "RPREQBLK" */
#define REAP_REQUESTS_BLOCK_BYTES 65536u

/* The environment variable by which a process finds its file (an absolute path). */
#define REAP_REQUESTS_ENV "REAP_REQUESTS"

struct reap_requests_file {
    uint64_t magic;
    uint64_t next_block; /* (atomic) number of blocks handed out, block 0 included */
    uint64_t lost; /* (atomic) requests that ended and found no room: disk full, no right to open the file */
    uint64_t unmatched; /* (atomic) ends without a begin */
};

struct reap_request {
    uint64_t begin;
    uint64_t end;
};

struct reap_requests_block {
    uint64_t magic;
    uint64_t pid;
    uint64_t count; /* (release store) requests that are whole */
    uint64_t open;  /* when the request began that the thread is in; 0: it is in none */
    uint64_t link;  /* the process's own: the next block that no thread has */
    uint64_t reserved[3];
    struct reap_request requests[(REAP_REQUESTS_BLOCK_BYTES - 64) / sizeof(struct reap_request)];
};

#endif
