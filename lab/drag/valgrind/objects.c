/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* The objects of pools that are in use: by address, and those of a pool in a ring.
 *
 * Pools are made for tiny objects, so that each byte counts: they are known by numbers of 32 bits.
 */
#include "objects.h"
#include <pub_tool_hashtable.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_mallocfree.h>

enum { AT_ONCE = 1 << 12, IN_A_CHAIN = 2 };
#define LARGE ((1ul << (64 - DRAG_AT_BITS)) - 1) /* its size is elsewhere */

static DragObject **stores; /* of AT_ONCE objects each */
static UInt store_count;
static UInt first_free; /* chained by `next` */
static UInt *chains;    /* by address; 0: empty */
static UWord mask;
static UWord filled;

typedef struct Large {
    struct Large *next; /* VgHashNode */
    UWord birth;
    SizeT size;
} Large;
static VgHashTable *large; /* by birth, which no two objects share */

/* What lies together is together here, too; of larger strides the pages fill what is between. */
static UWord home(Addr at) { return (at >> 4 ^ at >> 12 ^ at >> 26) & mask; }

DragObject *drag_object(DragNumber number) { return &stores[number / AT_ONCE][number % AT_ONCE]; }

/* Number 0 is none. */
static void grow_store(void) {
    tl_assert(store_count < 1u << 20);
    stores = VG_(realloc)("drag.stores", stores, (store_count + 1) * sizeof *stores);
    stores[store_count] = VG_(malloc)("drag.objects", AT_ONCE * sizeof **stores);
    for (UInt i = AT_ONCE; i-- > (store_count == 0);) {
        stores[store_count][i].next = first_free;
        first_free = store_count * AT_ONCE + i;
    }
    ++store_count;
}

static DragNumber take(void) {
    if (!first_free) grow_store();
    const DragNumber number = first_free;
    first_free = drag_object(number)->next;
    return number;
}

static void release(DragNumber number) {
    drag_object(number)->next = first_free;
    first_free = number;
}

static void grow(void) {
    const UInt *old = chains;
    const UWord count = mask + 1;
    chains = VG_(calloc)("drag.chains", count * 2, sizeof *chains);
    mask = count * 2 - 1;
    for (UWord i = 0; i < count; ++i)
        for (DragNumber number = old[i], next; number; number = next) {
            DragObject *object = drag_object(number);
            UInt *chain = &chains[home(drag_object_at(object))];
            next = object->next;
            object->next = *chain;
            *chain = number;
        }
    VG_(free)((void *)old);
}

DragNumber drag_ring_make(void) {
    const DragNumber ring = take();
    drag_object(ring)->before = drag_object(ring)->after = ring;
    return ring;
}

void drag_ring_free(DragNumber ring) { release(ring); }

void drag_ring_prepend(DragNumber ring, DragNumber from) {
    const DragNumber first = drag_object(from)->after, last = drag_object(from)->before;
    if (first == from) return;
    drag_object(from)->before = drag_object(from)->after = from;
    drag_object(last)->after = drag_object(ring)->after;
    drag_object(drag_object(ring)->after)->before = last;
    drag_object(first)->before = ring;
    drag_object(ring)->after = first;
}

void drag_object_add(Addr at, SizeT size, UInt birth, DragNumber ring) {
    if (filled > mask * IN_A_CHAIN) grow();
    ++filled;
    UInt *chain = &chains[home(at)];
    const DragNumber number = take();
    DragObject *object = drag_object(number);
    *object = (DragObject){
        .next = *chain, .birth = birth, .place = at | (size < LARGE ? size : LARGE) << DRAG_AT_BITS};
    if (size >= LARGE) {
        Large *its = VG_(malloc)("drag.large", sizeof *its);
        its->birth = birth;
        its->size = size;
        VG_(HT_add_node)(large, its);
    }
    *chain = number;
    if (!ring) return;
    object->before = ring;
    object->after = drag_object(ring)->after;
    drag_object(object->after)->before = number;
    drag_object(ring)->after = number;
}

SizeT drag_object_size(const DragObject *object) {
    const SizeT size = object->place >> DRAG_AT_BITS;
    return size < LARGE ? size : ((const Large *)VG_(HT_lookup)(large, object->birth))->size;
}

DragNumber drag_object_find(Addr at) {
    DragNumber number = chains[home(at)];
    while (number && drag_object_at(drag_object(number)) != at) number = drag_object(number)->next;
    return number;
}

void drag_object_remove(DragNumber number) {
    const DragObject *object = drag_object(number);
    UInt *link = &chains[home(drag_object_at(object))];
    while (*link != number) link = &drag_object(*link)->next;
    *link = object->next;
    if (object->before) {
        drag_object(object->before)->after = object->after;
        drag_object(object->after)->before = object->before;
    }
    if (object->place >> DRAG_AT_BITS == LARGE) VG_(free)(VG_(HT_remove)(large, object->birth));
    release(number);
    --filled;
}

void drag_object_each(void (*action)(const DragObject *)) {
    for (UWord i = 0; i <= mask; ++i)
        for (DragNumber number = chains[i]; number; number = drag_object(number)->next)
            action(drag_object(number));
}

void drag_objects_start(void) {
    mask = 1023;
    chains = VG_(calloc)("drag.chains", mask + 1, sizeof *chains);
    large = VG_(HT_construct)("drag.large");
}
