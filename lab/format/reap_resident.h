/* The resident file, version 2: the current statistics of a process's allocator.
 *
 * SPDX-License-Identifier: MIT
 *
 * The lab (reap.rss.watch) creates a folder; every process of the tree that loads the preload creates one
 * file in it, named by its pid, maps it shared and updates its fields in place, so that the last values
 * survive however the process ends. A read is valid if `sequence` is even and the same before and after. The
 * lab writes one field, `request`: functions of allocators that are linked into files of the program. All
 * sizes are bytes, all stamps nanoseconds of CLOCK_MONOTONIC. Little-endian; freestanding C11 / C++20.
 */
#ifndef REAP_RESIDENT_H
#define REAP_RESIDENT_H

#include <stdint.h>

#define REAP_RESIDENT_MAGIC UINT64_C(0x3153455250414552) /* "REAPRES1" */
#define REAP_RESIDENT_VERSION 2u

/* The environment variable: the interval in microseconds, a colon, the folder (an absolute path). */
#define REAP_RESIDENT_ENV "REAP_RESIDENT"

/* Beside it, or alone, when no file is written: microseconds until glibc is to return its free pages, a
 * colon, microseconds between further times or 0 for once. */
#define REAP_RESIDENT_TRIM_ENV "REAP_TRIM"

/* Whose statistics `values` are. */
enum reap_resident_kind {
    REAP_RESIDENT_NONE = 0,     /* the allocator has no known statistics */
    REAP_RESIDENT_GLIBC = 1,    /* mallinfo2: arena hblkhd uordblks fordblks fsmblks keepcost */
    REAP_RESIDENT_JEMALLOC = 2, /* mallctl: allocated active metadata resident mapped retained dirty muzzy
                                   tcache_bytes background_thread */
    REAP_RESIDENT_TCMALLOC = 3, /* MallocExtension: allocated heap_size pageheap_free pageheap_unmapped
                                   thread_caches central_cache transfer_cache */
    REAP_RESIDENT_MIMALLOC = 4, /* mi_process_info: committed, most committed */
    REAP_RESIDENT_SNMALLOC = 5  /* sn_rust_statistics: committed, most committed */
};

#define REAP_RESIDENT_VALUES 10
#define REAP_RESIDENT_UNKNOWN UINT64_MAX /* a value that the allocator does not report */

/* The result of a walk over the chunks of glibc's main heap (the one of brk), or of all heaps of its other
 * arenas together. Blocks in thread caches appear to be in use. */
struct reap_resident_walk {
    uint64_t stamp; /* 0: not walked */
    uint64_t begin;
    uint64_t bytes;          /* of the heap, its top included */
    uint64_t resident;       /* of these */
    uint64_t live;           /* in use, headers included */
    uint64_t live_blocks;    /* how many blocks that is */
    uint64_t untouched;      /* of `live`, whole pages that are not resident */
    uint64_t free;           /* between blocks in use, those in fastbins included; without the top */
    uint64_t whole;          /* of these, pages that malloc_trim could return to the OS */
    uint64_t whole_resident; /* of these, resident */
    uint64_t top;            /* after the last block in use */
    uint64_t top_resident;   /* of these */
    uint64_t largest;        /* the largest run of whole free pages */
    uint64_t above_blocks;   /* blocks in use between that and the top: what pins it, */
    uint64_t above_bytes;    /* and their bytes */
    uint64_t used;           /* what mallinfo2 said just before, of all arenas: uordblks, */
    uint64_t arena;          /* and arena: whether these changed says whether the walk is of today */
    uint64_t duration;       /* nanoseconds of CPU time that the walk took */
};

/* What a walk over all heaps of glibc found beside their chunks. */
struct reap_resident_around {
    uint64_t known;           /* 1: the arenas were found, and what follows is known */
    uint64_t heaps;           /* heaps of arenas beside the main one */
    uint64_t unread;          /* bytes of those that changed while they were walked */
    uint64_t unread_resident; /* of these */
    uint64_t caches;          /* thread caches; REAP_RESIDENT_UNKNOWN where this glibc's are not known */
    uint64_t cached;          /* bytes of the blocks in them */
    uint64_t fast;            /* bytes of fastbins that count as free in the walks */
    uint64_t mapped;          /* bytes of blocks with a mapping each that were found; 0 if unknown */
    uint64_t mapped_resident; /* of these */
};

#define REAP_RESIDENT_LINKED 4 /* allocators that are linked in, beside the one that serves malloc */

/* The lab's request: statistics functions by address, which it found in the files that the process has
 * mapped. Valid if `sequence` is even and the same before and after, and `token` is the process's. */
struct reap_resident_request {
    uint64_t token;
    uint32_t sequence;
    uint32_t count;
    uint64_t functions[REAP_RESIDENT_LINKED];
    uint32_t kinds[REAP_RESIDENT_LINKED]; /* enum reap_resident_kind */
};

/* What one of them reported. */
struct reap_resident_linked {
    uint64_t function; /* 0: nothing; else as in the request */
    uint32_t kind;
    uint32_t unused;
    uint64_t values[REAP_RESIDENT_VALUES];
};

struct reap_resident {
    uint64_t magic;
    uint32_t version;
    uint32_t kind;     /* enum reap_resident_kind */
    uint32_t sequence; /* odd while the rest is being written */
    uint32_t stopped;  /* 1: no further updates, though the process may continue */
    uint64_t stamp;    /* 0: no values yet */
    uint64_t values[REAP_RESIDENT_VALUES];
    struct reap_resident_walk walk;   /* of the main heap */
    struct reap_resident_walk others; /* of all other heaps; `begin`, `largest` and `above_*` are 0 */
    struct reap_resident_around around;
    char provider[256]; /* the file that provides malloc, as named by the loader */
    uint64_t function;  /* the address by which that allocator is asked */
    struct reap_resident_linked linked[REAP_RESIDENT_LINKED];
    struct reap_resident_request request;
    uint64_t token; /* another whenever a library may have been unloaded; 0: it may be unloaded now */
};

#endif
