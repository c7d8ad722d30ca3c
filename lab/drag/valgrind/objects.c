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
#include <pub_tool_libcassert.h>
#include <pub_tool_mallocfree.h>

enum { AT_ONCE = 1 << 12 };

static DragObject **stores; /* of AT_ONCE objects each */
static UInt store_count;
static UInt first_free; /* chained by `next` */
static UInt *chains;    /* by address; 0: empty */
static UWord mask;
static UWord filled;

static UWord home(Addr at) { return (at >> 3 ^ at >> 26) & mask; }

DragObject *drag_object(DragNumber number) { return &stores[number / AT_ONCE][number % AT_ONCE]; }

/* Number 0 is none. */
static void make_more(void) {
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
    if (!first_free) make_more();
    const DragNumber number = first_free;
    first_free = drag_object(number)->next;
    return number;
}

static void give_back(DragNumber number) {
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

void drag_ring_free(DragNumber ring) { give_back(ring); }

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
    if (filled > mask) grow();
    ++filled;
    UInt *chain = &chains[home(at)];
    const DragNumber number = take();
    DragObject *object = drag_object(number);
    *object = (DragObject){.next = *chain,
                           .birth = birth,
                           .at = (UInt)at,
                           .at_high = (UShort)(at >> 32),
                           .size = (UInt)size,
                           .size_high = (UShort)(size >> 32)};
    *chain = number;
    if (!ring) return;
    object->before = ring;
    object->after = drag_object(ring)->after;
    drag_object(object->after)->before = number;
    drag_object(ring)->after = number;
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
    give_back(number);
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
}
