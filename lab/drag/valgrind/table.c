/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* The blocks in use, by address: open addressing, so that a lookup is one miss of the cache. */
#include "engine.h"
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>

static DragBlock *slots; /* `at` 0: empty */
static UWord mask;
static UWord filled;

/* Blocks that lie together are together here, too. */
static UWord home(Addr at) { return (at >> 5 ^ at >> 26) & mask; }

static DragBlock *place_of(Addr at) {
    UWord i = home(at);
    while (slots[i].at != 0 && slots[i].at != at) i = (i + 1) & mask;
    return &slots[i];
}

static void make(UWord count) {
    slots = VG_(calloc)("drag.blocks", count, sizeof *slots);
    mask = count - 1;
    filled = 0;
}

static void grow(void) {
    DragBlock *old = slots;
    const UWord count = mask + 1;
    make(count * 2);
    for (UWord i = 0; i < count; ++i)
        if (old[i].at) drag_table_add(old[i]);
    VG_(free)(old);
}

void drag_table_start(void) { make(4096); }

DragBlock *drag_table_find(Addr at) {
    DragBlock *place = place_of(at);
    return at != 0 && place->at ? place : 0;
}

void drag_table_add(DragBlock block) {
    if ((filled + 1) * 5 > (mask + 1) * 4) grow();
    DragBlock *place = place_of(block.at);
    if (place->at == 0) ++filled;
    *place = block;
}

/* Those behind it move up, as far as each may. */
void drag_table_remove(DragBlock *block) {
    UWord hole = (UWord)(block - slots);
    for (UWord i = (hole + 1) & mask; slots[i].at != 0; i = (i + 1) & mask) {
        if (((i - home(slots[i].at)) & mask) < ((i - hole) & mask)) continue;
        slots[hole] = slots[i];
        hole = i;
    }
    slots[hole].at = 0;
    --filled;
}

DragBlock *drag_table_next(DragBlock *block) {
    for (DragBlock *next = block ? block + 1 : slots; next <= slots + mask; ++next)
        if (next->at) return next;
    return 0;
}
