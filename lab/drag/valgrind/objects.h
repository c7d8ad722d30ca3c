/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* The objects of pools that are in use: 24 bytes each, and 2 to 4 to find them. */
#ifndef REAP_DRAG_OBJECTS_H
#define REAP_DRAG_OBJECTS_H

#include <pub_tool_basics.h>

typedef UInt DragNumber; /* 0: none */

typedef struct {
    DragNumber next;          /* with the same hash */
    DragNumber before, after; /* in its pool's ring; 0: in none */
    UInt birth;
    ULong place; /* DRAG_AT_BITS of address, and the size */
} DragObject;

enum { DRAG_AT_BITS = 47 }; /* of all that a program can have */
static inline Addr drag_object_at(const DragObject *object) {
    return object->place & ((1ul << DRAG_AT_BITS) - 1);
}
SizeT drag_object_size(const DragObject *object);

void drag_objects_start(void);
/* Holds until the next is added. */
DragObject *drag_object(DragNumber number);
void drag_object_add(Addr at, SizeT size, UInt birth, DragNumber ring);
DragNumber drag_object_find(Addr at); /* the one that was added last */
void drag_object_remove(DragNumber number);
void drag_object_each(void (*action)(const DragObject *));

/* A ring's own number stands between its last and its first object. */
DragNumber drag_ring_make(void);
void drag_ring_free(DragNumber ring);                     /* an empty one */
void drag_ring_prepend(DragNumber ring, DragNumber from); /* all of another's objects, before its own */

#endif
