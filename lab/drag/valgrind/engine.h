/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* The interfaces between the parts of the engine. Included only in this folder. */
#ifndef REAP_DRAG_ENGINE_H
#define REAP_DRAG_ENGINE_H

#include <pub_tool_basics.h>
#include <pub_tool_execontext.h>
#include <pub_tool_tooliface.h>

/* main.c: the clock, one step per allocation, as a write stores it in a slot; a read adds DRAG_READ. */
extern UInt drag_clock;
enum { DRAG_READ = 1 };
static inline UInt drag_now(void) { return drag_clock / 2; }
/* Advances the clock; False after its end, when nothing more is recorded. */
Bool drag_tick(void);
/* main.c: whether a pool has objects on a thread's own stack, so that no access to it may be skipped. */
extern Bool drag_stack_pools;

/* shadow.c: for each eight bytes of the program, at a fixed distance, a slot of two clocks: of the last
 * access, and of the last access in an earlier step. */
#define DRAG_SHADOW 0x200000000000ul /* above all addresses that Valgrind allocates */
/* Programs may request mappings anywhere (Go's runtime at 0xc000000000); the low 44 bits of an address select
 * its slot. Addresses that agree in them, 16 TiB apart, share a slot. */
#define DRAG_WINDOW (1ul << 44)
#define DRAG_BEHIND (1ul << 21) /* reserved after the slots, for the window of the recording */
#define DRAG_SPAN (1ul << 37)   /* addresses that Valgrind allocates by itself: where blocks are */
#define DRAG_EARLIER 4          /* bytes from a slot to its second half */
typedef struct {
    UInt last;    /* clock of the last access, or the birth if there was none */
    UInt earlier; /* of the last one before this step */
    UInt flags;   /* of enum reap_drag_object: READ, WRITTEN */
} DragUse;
void drag_shadow_start(void);
void drag_mark_read(Addr at, SizeT size);
void drag_mark_write(Addr at, SizeT size);
/* The accesses to these bytes since `birth`. Reads one slot per eight bytes. */
DragUse drag_use(Addr at, SizeT size, UInt birth);
/* Marks these bytes as not yet read, for a new object. */
void drag_forget_reads(Addr at, SizeT size);
void drag_move(Addr from, Addr to, SizeT size); /* moves a range's slots, by whole granules */
void drag_forget(Addr at, SizeT size);          /* returns a range's slots to the OS: it was unmapped */

/* instrument.c */
IRSB *drag_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                      const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                      IRType host_word);

/* blocks.c: the malloc family. */
typedef struct {
    Addr at;
    SizeT size;
    UInt birth;
    Bool carved; /* whether objects were carved out of it */
    Bool small;  /* whether it is in a slab */
} DragBlock;
void drag_blocks_start(void);
void drag_blocks_write_live(void);
Bool drag_block_around(Addr at, DragBlock *block); /* the live block that contains this address */
void drag_block_carve(const DragBlock *block);

/* slabs.c and large.c: take a block's memory first, then add its record. All other functions require a live
 * block. */
#define DRAG_SMALL 4096           /* bytes of the largest block in a slab */
Addr drag_slabs_take(SizeT size); /* 0: there is no memory */
void drag_slabs_add(Addr at, SizeT size, UInt birth);
Bool drag_slabs_around(Addr at, DragBlock *block);
void drag_slabs_carve(Addr at);
void drag_slabs_free(Addr at);
void drag_slabs_each(void (*action)(const DragBlock *));
void drag_large_start(void);
Addr drag_large_take(SizeT size, SizeT alignment);
void drag_large_add(Addr at, SizeT size, UInt birth);
Bool drag_large_around(Addr at, DragBlock *block);
void drag_large_carve(Addr at);
void drag_large_free(Addr at);
void drag_large_each(void (*action)(const DragBlock *));

/* mappings.c: memory that the program maps itself. */
void drag_mappings_start(void);
void drag_mappings_write_live(void);
/* An object is carved there: returns whether it is in a mapping, which becomes a chunk. */
Bool drag_mapping_carve(Addr at, SizeT size);

/* pools.c: objects in pools and regions, by the client requests of valgrind.h. */
void drag_pools_start(void);
void drag_pools_write_live(void);
Bool drag_pools_request(ThreadId thread, UWord *words, UWord *answer);

/* stack.c: the stack of a thread, each distinct one once; at most --num-callers frames. */
ExeContext *drag_stack(ThreadId thread);

/* writer.c: the recording, in a window of a mapped file, so that nothing is lost if the process is killed. */
extern const HChar *drag_folder; /* --drag-folder: where recordings go */
void drag_writer_start(UInt base, UInt flags);
void drag_write_alloc(UInt kind, ThreadId thread, SizeT size);
void drag_write_free(UInt kind, UInt birth, DragUse use);
void drag_write_unmapped(UInt kind, UInt birth, DragUse use, SizeT bytes);
void drag_write_carved(UInt birth);
void drag_write_end(UInt how);
void drag_write_resume(void);
void drag_write_full(void);

/* sanitized.c: whether this program, named as for openat, has a sanitizer's runtime. */
Bool drag_is_sanitized(Int folder, const HChar *path);

/* system.c: system calls without a function for tools. */
Word drag_system(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f);
void drag_return_pages(Addr at, SizeT size); /* whole pages, which read as zero afterwards */

#endif
