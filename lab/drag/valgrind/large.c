/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Blocks that are too large for slabs, or aligned: their memory is from Valgrind's own allocator, and their
 * records, of about 60 bytes, are in a tree by address.
 */
#include "engine.h"
#include <pub_tool_libcassert.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_oset.h>
#include <pub_tool_replacemalloc.h>

static OSet *blocks;

static Word compare(const void *key, const void *element) {
    const Addr wanted = *(const Addr *)key;
    const DragBlock *block = element;
    if (wanted < block->at) return -1;
    return wanted >= block->at + (block->size ? block->size : 1) ? 1 : 0;
}

Addr drag_large_take(SizeT size, SizeT alignment) { return (Addr)VG_(cli_malloc)(alignment, size); }

void drag_large_add(Addr at, SizeT size, UInt birth) {
    DragBlock *block = VG_(OSetGen_AllocNode)(blocks, sizeof *block);
    *block = (DragBlock){.at = at, .size = size, .birth = birth};
    VG_(OSetGen_Insert)(blocks, block);
}

Bool drag_large_around(Addr at, DragBlock *block) {
    const DragBlock *found = VG_(OSetGen_LookupWithCmp)(blocks, &at, compare);
    if (found) *block = *found;
    return found != 0;
}

void drag_large_carve(Addr at) { ((DragBlock *)VG_(OSetGen_Lookup)(blocks, &at))->carved = True; }

void drag_large_free(Addr at) {
    VG_(OSetGen_FreeNode)(blocks, VG_(OSetGen_Remove)(blocks, &at));
    VG_(cli_free)((void *)at);
}

void drag_large_each(void (*action)(const DragBlock *)) {
    VG_(OSetGen_ResetIter)(blocks);
    for (const DragBlock *each; (each = VG_(OSetGen_Next)(blocks)) != 0;) action(each);
}

void drag_large_start(void) {
    /* Ordered by the address, the first member of a record. */
    blocks =
        VG_(OSetGen_Create_With_Pool)(0, 0, VG_(malloc), "drag.large", VG_(free), 512, sizeof(DragBlock));
}
