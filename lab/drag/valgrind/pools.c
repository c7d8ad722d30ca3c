/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Objects that programs carve out of blocks themselves, as they tell by the requests of valgrind.h. */
#include "engine.h"
#include "reap_drag.h"
#include <pub_tool_hashtable.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_poolalloc.h>
#include <pub_tool_transtab.h>
#include <valgrind.h>

typedef struct Object {
    struct Object *next; /* VgHashNode */
    Addr at;
    SizeT size;
    UInt birth;
    struct Object *before, *after; /* in its pool */
    struct Pool *pool;             /* 0: a block like one of malloc's */
} Object;

typedef struct Pool {
    struct Pool *next; /* VgHashNode */
    Addr name;
    Object *first;
} Pool;

/* As mark.h has them. */
enum { REWIND = VG_USERREQ_TOOL_BASE('R', 'D'), MERGE };

static VgHashTable *objects;
static VgHashTable *pools;
static PoolAlloc *records;

/* Objects on a thread's own stack: from now on every access through the stack pointer counts as what it is.
 */
static void see_stack(ThreadId thread, Addr at) {
    const Addr pointer = VG_(get_SP)(thread);
    const Addr top = VG_(thread_get_stack_max)(thread);
    if (drag_stack_pools || at < pointer || at > top) return;
    drag_stack_pools = True;
    VG_(discard_translations_safely)(0, DRAG_SPAN, "drag: a pool on a stack");
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
        drag_table_carve(block.at);
        return True;
    }
    return !on_own_stack(thread, at) && drag_mapping_carve(at, size);
}

static void add(ThreadId thread, Pool *pool, Addr at, SizeT size) {
    see_stack(thread, at);
    const Bool within = carve(thread, at, size);
    if (!drag_tick()) return;
    drag_write_alloc(within || pool ? REAP_DRAG_POOLED : REAP_DRAG_ALLOC, thread, size);
    Object *object = VG_(allocEltPA)(records);
    object->at = at;
    object->size = size;
    object->birth = drag_now();
    object->pool = pool;
    object->before = 0;
    object->after = pool ? pool->first : 0;
    if (object->after) object->after->before = object;
    if (pool) pool->first = object;
    VG_(HT_add_node)(objects, object);
}

static void write_object(UInt kind, const Object *object) {
    drag_write_free(kind, object->birth, drag_use(object->at, object->size, object->birth));
}

static void drop(Object *object) {
    VG_(HT_remove)(objects, object->at);
    write_object(REAP_DRAG_FREE, object);
    if (object->before)
        object->before->after = object->after;
    else if (object->pool)
        object->pool->first = object->after;
    if (object->after) object->after->before = object->before;
    VG_(freeEltPA)(records, object);
}

static void drop_at(Addr at) {
    Object *object = VG_(HT_lookup)(objects, at);
    if (object) drop(object);
}

static Pool *pool_of(Addr name) { return VG_(HT_lookup)(pools, name); }

static Pool *make_pool(Addr name) {
    Pool *pool = pool_of(name);
    if (pool) return pool; /* the one before was never said to end */
    pool = VG_(malloc)("drag.pool", sizeof(Pool));
    pool->name = name;
    pool->first = 0;
    VG_(HT_add_node)(pools, pool);
    return pool;
}

static void destroy_pool(Addr name) {
    Pool *pool = VG_(HT_remove)(pools, name);
    if (!pool) return;
    while (pool->first) drop(pool->first);
    VG_(free)(pool);
}

/* An object that this pool does not have cuts nothing. */
static void rewind_pool(Pool *pool, Addr at) {
    const Object *last = VG_(HT_lookup)(objects, at);
    if (!last || last->pool != pool) return;
    Bool over = False;
    while (!over) {
        over = pool->first == last;
        drop(pool->first);
    }
}

/* What the one has is newer than what the other had. */
static void merge_pools(Pool *into, Pool *from) {
    if (into == from || !from->first) return;
    Object *oldest = from->first;
    for (Object *object = from->first; object; object = object->after) {
        object->pool = into;
        oldest = object;
    }
    oldest->after = into->first;
    if (into->first) into->first->before = oldest;
    into->first = from->first;
    from->first = 0;
}

/* Everything outside of these bytes is freed; what lies across their ends stays whole. */
static void trim(Pool *pool, Addr at, SizeT size) {
    for (Object *object = pool->first, *after; object; object = after) {
        after = object->after;
        if (object->at >= at + size || object->at + object->size <= at) drop(object);
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

void drag_pools_write_live(void) {
    VG_(HT_ResetIter)(objects);
    for (Object *object; (object = VG_(HT_Next)(objects)) != 0;) write_object(REAP_DRAG_LIVE, object);
}

void drag_pools_start(void) {
    objects = VG_(HT_construct)("drag.objects");
    pools = VG_(HT_construct)("drag.pools");
    records = VG_(newPA)(sizeof(Object), 1000, VG_(malloc), "drag.objects", VG_(free));
}
