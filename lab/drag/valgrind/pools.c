/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Objects that programs carve out of blocks themselves, as they tell by the requests of valgrind.h. */
#include "engine.h"
#include "objects.h"
#include "reap_drag.h"
#include <pub_tool_hashtable.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_transtab.h>
#include <valgrind.h>

typedef struct Pool {
    struct Pool *next; /* VgHashNode */
    Addr name;
    DragNumber ring;
} Pool;

/* As mark.h has them. */
enum { REWIND = VG_USERREQ_TOOL_BASE('R', 'D'), MERGE };

static VgHashTable *pools;

/* Objects on a thread's own stack: from now on every access through the stack pointer counts as what it is.
 */
static void see_stack(ThreadId thread, Addr at) {
    const Addr pointer = VG_(get_SP)(thread);
    const Addr top = VG_(thread_get_stack_max)(thread);
    if (drag_stack_pools || at < pointer || at > top) return;
    drag_stack_pools = True;
    VG_(discard_translations_safely)(0, 1ul << 47, "drag: a pool on a stack");
}

static Bool on_own_stack(ThreadId thread, Addr at) {
    const Addr top = VG_(thread_get_stack_max)(thread);
    return at <= top && top - at < VG_(thread_get_stack_size)(thread);
}

/* Whether these bytes are a chunk's: of malloc, or of the system. A thread's own stack is none. */
static Bool carve(ThreadId thread, Addr at, SizeT size) {
    DragBlock block;
    if (drag_block_around(at, &block)) {
        if (block.carved) return True;
        drag_write_carved(block.birth);
        drag_block_carve(&block);
        return True;
    }
    return !on_own_stack(thread, at) && drag_mapping_carve(at, size);
}

/* What no memory can be is a mistake of the program's, and no object. */
static void add(ThreadId thread, Pool *pool, Addr at, SizeT size) {
    if (at >> DRAG_AT_BITS || size > (1ul << DRAG_AT_BITS) - at) return;
    see_stack(thread, at);
    const Bool within = carve(thread, at, size);
    if (!drag_tick()) return;
    drag_write_alloc(within || pool ? REAP_DRAG_POOLED : REAP_DRAG_ALLOC, thread, size);
    drag_object_add(at, size, drag_now(), pool ? pool->ring : 0);
    drag_forget_reads(at, size);
}

static void write_object(UInt kind, const DragObject *object) {
    drag_write_free(kind, object->birth,
                    drag_use(drag_object_at(object), drag_object_size(object), object->birth));
}

static void drop(DragNumber number) {
    if (!number) return;
    write_object(REAP_DRAG_FREE, drag_object(number));
    drag_object_remove(number);
}

static void drop_at(Addr at) { drop(drag_object_find(at)); }

static Pool *pool_of(Addr name) { return VG_(HT_lookup)(pools, name); }

static Pool *make_pool(Addr name) {
    Pool *pool = pool_of(name);
    if (pool) return pool; /* the one before was never said to end */
    pool = VG_(malloc)("drag.pool", sizeof(Pool));
    pool->name = name;
    pool->ring = drag_ring_make();
    VG_(HT_add_node)(pools, pool);
    return pool;
}

static void destroy_pool(Addr name) {
    Pool *pool = VG_(HT_remove)(pools, name);
    if (!pool) return;
    while (drag_object(pool->ring)->after != pool->ring) drop(drag_object(pool->ring)->after);
    drag_ring_free(pool->ring);
    VG_(free)(pool);
}

/* An object that this pool does not have cuts nothing. */
static void rewind_pool(const Pool *pool, Addr at) {
    const DragNumber last = drag_object_find(at);
    DragNumber number = drag_object(pool->ring)->after;
    while (number != pool->ring && number != last) number = drag_object(number)->after;
    if (number == pool->ring) return;
    for (Bool over = False; !over;) {
        const DragNumber first = drag_object(pool->ring)->after;
        over = first == last;
        drop(first);
    }
}

/* What the one has is newer than what the other had. */
static void merge_pools(const Pool *into, const Pool *from) {
    if (into != from) drag_ring_prepend(into->ring, from->ring);
}

/* Everything outside of these bytes is freed; what lies across their ends stays whole. */
static void trim(Pool *pool, Addr at, SizeT size) {
    for (DragNumber number = drag_object(pool->ring)->after, after; number != pool->ring; number = after) {
        const DragObject *object = drag_object(number);
        after = object->after;
        const Addr begin = drag_object_at(object);
        if (begin >= at + size || begin + drag_object_size(object) <= at) drop(number);
    }
}

static void move_pool(Addr from, Addr to) {
    Pool *pool = VG_(HT_remove)(pools, from);
    if (!pool) return;
    pool->name = to;
    VG_(HT_add_node)(pools, pool);
}

Bool drag_pools_request(ThreadId thread, UWord *words, UWord *answer) {
    Pool *pool = 0;
    *answer = 0;
    switch (words[0]) {
    case VG_USERREQ__MALLOCLIKE_BLOCK:
        add(thread, 0, words[1], words[2]);
        return True;
    case VG_USERREQ__FREELIKE_BLOCK:
        drop_at(words[1]);
        return True;
    case VG_USERREQ__RESIZEINPLACE_BLOCK:
        drop_at(words[1]);
        add(thread, 0, words[1], words[3]);
        return True;
    case VG_USERREQ__CREATE_MEMPOOL:
        make_pool(words[1]);
        return True;
    case VG_USERREQ__DESTROY_MEMPOOL:
        destroy_pool(words[1]);
        return True;
    case VG_USERREQ__MEMPOOL_ALLOC:
        /* A pool that was never said to exist exists now: an annotation may be a half one. */
        pool = pool_of(words[1]);
        add(thread, pool ? pool : make_pool(words[1]), words[2], words[3]);
        return True;
    case VG_USERREQ__MEMPOOL_FREE:
        drop_at(words[2]);
        return True;
    case VG_USERREQ__MEMPOOL_TRIM:
        pool = pool_of(words[1]);
        if (pool) trim(pool, words[2], words[3]);
        return True;
    case VG_USERREQ__MOVE_MEMPOOL:
        move_pool(words[1], words[2]);
        return True;
    case VG_USERREQ__MEMPOOL_CHANGE:
        drop_at(words[2]);
        pool = pool_of(words[1]);
        if (pool) add(thread, pool, words[3], words[4]);
        return True;
    case REWIND:
        pool = pool_of(words[1]);
        if (pool) rewind_pool(pool, words[2]);
        return True;
    case MERGE:
        pool = pool_of(words[2]);
        if (pool) merge_pools(make_pool(words[1]), pool);
        return True;
    case VG_USERREQ__MEMPOOL_EXISTS:
        *answer = pool_of(words[1]) != 0;
        return True;
    default:
        return False;
    }
}

static void write_live(const DragObject *object) { write_object(REAP_DRAG_LIVE, object); }

void drag_pools_write_live(void) { drag_object_each(write_live); }

void drag_pools_start(void) {
    drag_objects_start();
    pools = VG_(HT_construct)("drag.pools");
}
