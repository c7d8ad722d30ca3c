/* A drag recording, version 2: what one process allocated, and when each object was last accessed.
 *
 * The clock advances one step per allocation. A file is a header, then events until a zero byte or the file's
 * end; numbers are LEB128 (seven bits a byte, lowest first). The object of the n-th ALLOC, POOLED or MAPPED
 * event of a file has the serial `base + n`, n from 1: the clock after it. A file may end anywhere: the
 * process was killed, the disk was full.
 *
 * Accesses to an object in the step in which it is freed may belong to freeing it, and are distinguished,
 * except for the copy by realloc.
 */
#ifndef REAP_DRAG_H
#define REAP_DRAG_H

#include <stdint.h>

#define REAP_DRAG_MAGIC 0x3230474152444552ull /* "REDRAG02" read as bytes */

/* The environment variable by which a recompiled program finds the folder for its recordings. */
#define REAP_DRAG_FOLDER_ENV "REAP_DRAG_FOLDER"

struct reap_drag_header {
    uint64_t magic;
    uint32_t pid;
    uint32_t parent;
    uint32_t base;  /* the clock at the start of this file: nonzero after a fork */
    uint32_t flags; /* enum reap_drag_flag */
};

enum reap_drag_flag {
    REAP_DRAG_FORKED = 1 /* started by a fork: inherited objects are not included */
};

enum reap_drag_event {
    REAP_DRAG_NOTHING = 0,
    REAP_DRAG_ALLOC = 1,     /* stack, size: a block of the malloc family, or like one */
    REAP_DRAG_POOLED = 2,    /* stack, size: an object that a pool or region carved out of a block */
    REAP_DRAG_FREE = 3,      /* now - serial, now - last access; with object flags. If these are not 0 and
                                0: now - last access before the step of the free */
    REAP_DRAG_LIVE = 4,      /* now - serial, now - last access; with object flags: an object that was never
                                freed; all of them stand before END */
    REAP_DRAG_STACK = 5,     /* number, depth, depth x (module, address in the file), innermost first */
    REAP_DRAG_MODULE = 6,    /* number, length, path */
    REAP_DRAG_COMMAND = 7,   /* length, words each ended by a zero byte */
    REAP_DRAG_END = 8,       /* enum reap_drag_end */
    REAP_DRAG_RESUME = 9,    /* the exec before which LIVE and END were written failed: they do not hold */
    REAP_DRAG_FULL = 10,     /* the clock is at its end, or the disk is full: what came later is missing */
    REAP_DRAG_MAPPED = 11,   /* stack, size: memory that the program mapped; a step like ALLOC */
    REAP_DRAG_UNMAPPED = 12, /* as LIVE, and bytes: so many of a mapping are no more */
    REAP_DRAG_LIVE_MAPPED = 13, /* as LIVE, and bytes */
    REAP_DRAG_CARVED = 14       /* now - serial: an object was put into this block or mapping */
};

/* An event's first byte: its kind, and its flags from the fifth bit on. */
#define REAP_DRAG_KIND_BITS 4

enum reap_drag_object {
    REAP_DRAG_READ = 1,    /* was read */
    REAP_DRAG_WRITTEN = 2, /* was written to, by the program itself */
    REAP_DRAG_CHUNK = 4    /* objects were carved out of it: the same as CARVED, said at its end */
};

enum reap_drag_end {
    REAP_DRAG_EXITED = 0,
    REAP_DRAG_EXEC = 1 /* became another program, which has its own file */
};

#endif
