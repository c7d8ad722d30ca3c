/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Blocks of at most DRAG_SMALL bytes: their memory, and a record for each in use.
 *
 * Programs have millions of blocks of 16 bytes, so that each byte counts. Valgrind's own allocator puts 32
 * around a block; here a block is its size and what glibc has to spare behind it, and 6 bytes of record.
 * Blocks of one such size lie side by side in a slab; an address tells its slab and its place in it, so that
 * nothing has to be looked for. What links free blocks is in their records: no write after free reaches it,
 * and what the program left in a block stays there.
 */
#include "engine.h"
#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_vki.h>

enum {
    SLAB = 1 << 16,     /* bytes, and what it is aligned to */
    REGION = 64 * SLAB, /* what is asked of the system at once */
    STEP = 16,
    SPARE = 8,       /* of glibc: who writes that far behind a block must harm no other here, either */
    FINE = 64,       /* classes of 16 bytes more each: up to 1024 */
    WIDE_STEP = 128, /* then these, of which at most a ninth is for nothing */
    WIDE = (DRAG_SMALL + SPARE - FINE * STEP + WIDE_STEP - 1) / WIDE_STEP,
    CLASSES = FINE + 1 + WIDE, /* the first two have no blocks */
    WARM = 16                  /* empty slabs that keep their pages, to be used again at once */
};
enum { SIZE_MASK = 0x3FFF, CARVED = 0x4000, IN_USE = 0x8000 };

typedef struct Slab {
    Addr at;
    struct Slab *next, *before; /* in its class, while it has room; `next` among the cold ones */
    UInt class;                 /* 0: it has none, and no records */
    UInt stride;                /* from block to block */
    UInt in_use, fresh;         /* blocks in use; blocks that ever were */
    UInt free;                  /* the one freed last and 1; 0: none. Chained by `births` */
    Bool pooled;                /* objects of pools may be in it */
    UInt *births;
    UShort *sizes; /* and flags; of a free block 0 */
} Slab;

static Slab *slab_at[DRAG_SPAN / SLAB];
static UWord slabs_end;          /* none are from here on */
static Slab *with_room[CLASSES]; /* rings; blocks are taken from the first */
static Slab *warm[WARM];
static UInt warm_count;
static Slab *cold; /* empty ones that were returned to the OS */

/* Of Valgrind's core, whose headers are not for tools: from where its own allocator has the program's blocks.
 */
extern SysRes VG_(am_mmap_client_heap)(SizeT size, Int protection);

static Slab *make_slab(Addr at) {
    tl_assert(at < DRAG_SPAN);
    Slab *slab = VG_(calloc)("drag.slab", 1, sizeof *slab);
    slab->at = at;
    slab_at[at / SLAB] = slab;
    if (at / SLAB >= slabs_end) slabs_end = at / SLAB + 1;
    return slab;
}

static Slab *new_slab(void) {
    static Addr at, end; /* of the region that is not used up */
    if (at == end) {
        const SysRes got =
            VG_(am_mmap_client_heap)(REGION + SLAB, VKI_PROT_READ | VKI_PROT_WRITE | VKI_PROT_EXEC);
        if (sr_isError(got)) return 0;
        at = (sr_Res(got) + SLAB - 1) & -(Addr)SLAB;
        end = at + REGION;
    }
    at += SLAB;
    return make_slab(at - SLAB);
}

static Slab *empty_slab(void) {
    if (warm_count > 0) return warm[--warm_count];
    if (!cold) return new_slab();
    Slab *slab = cold;
    cold = slab->next;
    return slab;
}

static void link(Slab **ring, Slab *slab) {
    Slab *first = *ring ? *ring : slab;
    slab->next = first;
    slab->before = *ring ? first->before : slab;
    slab->before->next = first->before = slab;
    *ring = first;
}

static void unlink(Slab **ring, Slab *slab) {
    slab->next->before = slab->before;
    slab->before->next = slab->next;
    if (*ring == slab) *ring = slab->next == slab ? 0 : slab->next;
}

static UInt places(const Slab *slab) { return SLAB / slab->stride; }
static Slab **ring_of(const Slab *slab) { return &with_room[slab->class]; }

static UInt class_of(SizeT size) {
    const SizeT room = size < STEP ? 2 * STEP - SPARE : size + SPARE; /* glibc's least: 24 */
    if (room <= FINE * STEP) return (UInt)(room + STEP - 1) / STEP;
    return FINE + (UInt)(room - FINE * STEP + WIDE_STEP - 1) / WIDE_STEP;
}

static UInt stride_of(UInt class) {
    return class <= FINE ? class * STEP : FINE * STEP + (class - FINE) * WIDE_STEP;
}

static Slab *open_slab(UInt class) {
    Slab *slab = empty_slab();
    if (!slab) return 0;
    slab->class = class;
    slab->stride = stride_of(class);
    slab->fresh = slab->free = 0;
    slab->births = VG_(malloc)("drag.births", places(slab) * sizeof *slab->births);
    slab->sizes = VG_(calloc)("drag.sizes", places(slab), sizeof *slab->sizes);
    link(ring_of(slab), slab);
    return slab;
}

/* What is still an object of some pool's has its slots until the pool frees it. */
static void close_slab(Slab *slab) {
    unlink(ring_of(slab), slab);
    slab->class = 0;
    VG_(free)(slab->births);
    VG_(free)(slab->sizes);
    if (warm_count < WARM) {
        warm[warm_count++] = slab;
        return;
    }
    drag_return_pages(slab->at, SLAB);
    if (!slab->pooled) drag_forget(slab->at, SLAB);
    slab->next = cold;
    cold = slab;
}

Addr drag_slabs_take(SizeT size) {
    const UInt class = class_of(size);
    Slab *slab = with_room[class] ? with_room[class] : open_slab(class);
    if (!slab) return 0;
    const UInt place = slab->free ? slab->free - 1 : slab->fresh++;
    if (slab->free) slab->free = slab->births[place];
    if (++slab->in_use == places(slab)) unlink(ring_of(slab), slab);
    return slab->at + (Addr)place * slab->stride;
}

static Slab *slab_around(Addr at) {
    Slab *slab = at < DRAG_SPAN ? slab_at[at / SLAB] : 0;
    return slab && slab->class ? slab : 0;
}

static UInt place_of(const Slab *slab, Addr at) { return (UInt)(at - slab->at) / slab->stride; }

void drag_slabs_add(Addr at, SizeT size, UInt birth) {
    const Slab *slab = slab_around(at);
    slab->births[place_of(slab, at)] = birth;
    slab->sizes[place_of(slab, at)] = (UShort)(size | IN_USE);
}

static DragBlock said(const Slab *slab, UInt place) {
    return (DragBlock){.at = slab->at + (Addr)place * slab->stride,
                       .size = slab->sizes[place] & SIZE_MASK,
                       .birth = slab->births[place],
                       .carved = (slab->sizes[place] & CARVED) != 0,
                       .small = True};
}

Bool drag_slabs_around(Addr at, DragBlock *block) {
    const Slab *slab = slab_around(at);
    if (!slab) return False;
    const UInt place = place_of(slab, at);
    if (place >= slab->fresh || !(slab->sizes[place] & IN_USE)) return False;
    *block = said(slab, place);
    return True;
}

void drag_slabs_carve(Addr at) {
    Slab *slab = slab_around(at);
    slab->sizes[place_of(slab, at)] |= CARVED;
    slab->pooled = True;
}

void drag_slabs_free(Addr at) {
    Slab *slab = slab_around(at);
    const UInt place = place_of(slab, at);
    slab->sizes[place] = 0;
    slab->births[place] = slab->free;
    slab->free = place + 1;
    if (slab->in_use-- == places(slab)) link(ring_of(slab), slab);
    /* The first is where the next block comes from. */
    if (slab->in_use == 0 && slab != *ring_of(slab)) close_slab(slab);
}

void drag_slabs_each(void (*action)(const DragBlock *)) {
    for (UWord i = 0; i < slabs_end; ++i) {
        const Slab *slab = slab_at[i];
        for (UInt place = 0; slab && slab->class && place < slab->fresh; ++place)
            if (slab->sizes[place] & IN_USE) {
                const DragBlock block = said(slab, place);
                action(&block);
            }
    }
}
