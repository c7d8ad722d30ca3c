/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* The blocks in use, by address: open addressing, so that a lookup is one miss of the cache.
 *
 * Programs have millions of blocks of 16 bytes, so that each byte counts: 12 of them are a block's address,
 * size and birth. Many small tables instead of one, so that what grows is never twice there as a whole.
 */
#include "engine.h"
#include <pub_tool_hashtable.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>

enum { PARTS = 64, AT_BITS = 33, SIZE_BITS = 30 };
#define AT_MASK ((1ul << AT_BITS) - 1)
#define LARGE ((1ul << SIZE_BITS) - 1) /* its size is elsewhere */

typedef struct {
    ULong *blocks; /* address in 16 bytes, size, whether it was carved; 0: empty */
    UInt *births;
    UWord mask;
    UWord filled;
} Part;

static Part parts[PARTS];

typedef struct Large {
    struct Large *next; /* VgHashNode */
    UWord at;
    SizeT size;
} Large;
static VgHashTable *large;

static Addr at_of(ULong block) { return (block & AT_MASK) << 4; }
static Part *part_of(Addr at) { return &parts[(at >> 15) % PARTS]; }

/* Blocks that lie together are together here, too. */
static UWord home(const Part *part, Addr at) {
    return ((at >> 4 & 2047) ^ at >> 21 << 11 ^ at >> 37) & part->mask;
}

static UWord place_of(const Part *part, Addr at) {
    UWord i = home(part, at);
    while (part->blocks[i] != 0 && at_of(part->blocks[i]) != at) i = (i + 1) & part->mask;
    return i;
}

static void make(Part *part, UWord count) {
    part->blocks = VG_(calloc)("drag.blocks", count, sizeof *part->blocks);
    part->births = VG_(malloc)("drag.births", count * sizeof *part->births);
    part->mask = count - 1;
}

static void put(Part *part, ULong block, UInt birth) {
    const UWord i = place_of(part, at_of(block));
    if (part->blocks[i] == 0) ++part->filled;
    part->blocks[i] = block;
    part->births[i] = birth;
}

static void grow(Part *part) {
    const Part old = *part;
    make(part, (old.mask + 1) * 2);
    part->filled = 0;
    for (UWord i = 0; i <= old.mask; ++i)
        if (old.blocks[i]) put(part, old.blocks[i], old.births[i]);
    VG_(free)(old.blocks);
    VG_(free)(old.births);
}

void drag_table_start(void) {
    for (UWord i = 0; i < PARTS; ++i) make(&parts[i], 64);
    large = VG_(HT_construct)("drag.large");
}

static DragBlock said(const Part *part, UWord i) {
    const ULong word = part->blocks[i];
    DragBlock block = {.at = at_of(word),
                       .size = word >> AT_BITS & LARGE,
                       .birth = part->births[i],
                       .carved = (UInt)(word >> (AT_BITS + SIZE_BITS))};
    if (block.size == LARGE) block.size = ((Large *)VG_(HT_lookup)(large, block.at))->size;
    return block;
}

Bool drag_table_find(Addr at, DragBlock *block) {
    if (at == 0 || at % 16 != 0 || at >= DRAG_SPAN) return False;
    const Part *part = part_of(at);
    const UWord i = place_of(part, at);
    if (part->blocks[i] == 0) return False;
    *block = said(part, i);
    return True;
}

void drag_table_add(Addr at, SizeT size, UInt birth) {
    tl_assert(at % 16 == 0 && at < DRAG_SPAN);
    Part *part = part_of(at);
    if ((part->filled + 1) * 5 > (part->mask + 1) * 4) grow(part);
    if (size >= LARGE) {
        Large *its = VG_(malloc)("drag.large", sizeof *its);
        its->at = at;
        its->size = size;
        VG_(HT_add_node)(large, its);
    }
    put(part, at >> 4 | (size < LARGE ? size : LARGE) << AT_BITS, birth);
}

void drag_table_carve(Addr at) {
    Part *part = part_of(at);
    part->blocks[place_of(part, at)] |= 1ul << (AT_BITS + SIZE_BITS);
}

/* Those behind it move up, as far as each may. */
void drag_table_remove(Addr at) {
    Part *part = part_of(at);
    UWord hole = place_of(part, at);
    if ((part->blocks[hole] >> AT_BITS & LARGE) == LARGE) VG_(free)(VG_(HT_remove)(large, at));
    for (UWord i = (hole + 1) & part->mask; part->blocks[i] != 0; i = (i + 1) & part->mask) {
        if (((i - home(part, at_of(part->blocks[i]))) & part->mask) < ((i - hole) & part->mask)) continue;
        part->blocks[hole] = part->blocks[i];
        part->births[hole] = part->births[i];
        hole = i;
    }
    part->blocks[hole] = 0;
    --part->filled;
}

void drag_table_each(void (*action)(const DragBlock *)) {
    for (const Part *part = parts; part < parts + PARTS; ++part)
        for (UWord i = 0; i <= part->mask; ++i)
            if (part->blocks[i]) {
                const DragBlock block = said(part, i);
                action(&block);
            }
}
