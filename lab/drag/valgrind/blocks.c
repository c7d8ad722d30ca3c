/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* The malloc family, which the tool serves itself. */
#include "engine.h"
#include "reap_drag.h"
#include <pub_tool_libcbase.h>
#include <pub_tool_options.h>
#include <pub_tool_replacemalloc.h>
#include <pub_tool_tooliface.h>
#include <valgrind.h>

static Bool is_small(SizeT size, SizeT alignment) {
    return size <= DRAG_SMALL && alignment == VG_(clo_alignment);
}

static Addr take(SizeT size, SizeT alignment) {
    return is_small(size, alignment) ? drag_slabs_take(size) : drag_large_take(size, alignment);
}

/* After the clock's end blocks are still tracked, but not recorded. */
static void add(ThreadId thread, Addr at, SizeT size, SizeT alignment) {
    if (drag_tick()) drag_write_alloc(REAP_DRAG_ALLOC, thread, size);
    (is_small(size, alignment) ? drag_slabs_add : drag_large_add)(at, size, drag_now());
}

Bool drag_block_around(Addr at, DragBlock *block) {
    return drag_slabs_around(at, block) || drag_large_around(at, block);
}

static Bool find(Addr at, DragBlock *block) { return drag_block_around(at, block) && block->at == at; }

void drag_block_carve(const DragBlock *block) {
    (block->small ? drag_slabs_carve : drag_large_carve)(block->at);
}

static void write_block(UInt kind, const DragBlock *block) {
    drag_write_free(kind, block->birth, drag_use(block->at, block->size, block->birth));
}

static void write_live(const DragBlock *block) { write_block(REAP_DRAG_LIVE, block); }

void drag_blocks_write_live(void) {
    drag_slabs_each(write_live);
    drag_large_each(write_live);
}

static void *serve(ThreadId thread, SizeT size, SizeT alignment, Bool zero) {
    if ((SSizeT)size < 0) return 0;
    const Addr at = take(size, alignment);
    if (!at) return 0;
    if (zero) VG_(memset)((void *)at, 0, size); /* by the allocator: not an access of the program */
    add(thread, at, size, alignment);
    return (void *)at;
}

static void *of_size(ThreadId thread, SizeT size) { return serve(thread, size, VG_(clo_alignment), False); }

/* From Valgrind 3.22 on the alignment is passed a second time, as given by the program. */
#if __VALGRIND_MAJOR__ > 3 || __VALGRIND_MINOR__ >= 22
#define AND_AS_GIVEN , SizeT as_given
#else
#define AND_AS_GIVEN
#endif

static SizeT at_least_usual(SizeT alignment) {
    return alignment > VG_(clo_alignment) ? alignment : VG_(clo_alignment);
}

static void *aligned(ThreadId thread, SizeT size, SizeT alignment AND_AS_GIVEN) {
    return serve(thread, size, at_least_usual(alignment), False);
}

static void *of_alignment(ThreadId thread, SizeT alignment AND_AS_GIVEN, SizeT size) {
    return serve(thread, size, at_least_usual(alignment), False);
}

static void *of_many(ThreadId thread, SizeT count, SizeT size) {
    SizeT all;
    if (__builtin_mul_overflow(count, size, &all)) return 0;
    return serve(thread, all, VG_(clo_alignment), True);
}

static void end(const DragBlock *block, DragUse use) {
    drag_write_free(REAP_DRAG_FREE, block->birth, use);
    drag_forget_reads(block->at, block->size);
    (block->small ? drag_slabs_free : drag_large_free)(block->at);
}

/* Ignores pointers to unknown blocks: double frees, or blocks from before the start. */
static void release(ThreadId thread, void *at) {
    (void)thread;
    DragBlock block;
    if (find((Addr)at, &block)) end(&block, drag_use(block.at, block.size, block.birth));
}

static void release_aligned(ThreadId thread, void *at, SizeT alignment) {
    (void)alignment;
    release(thread, at);
}

/* A free and an allocation: the copy reads the old block before the step of the clock and writes the new one
 * after it. */
static void *resize(ThreadId thread, void *at, SizeT size) {
    if (!at) return of_size(thread, size);
    if (size == 0) {
        release(thread, at);
        return 0;
    }
    DragBlock old;
    if (!find((Addr)at, &old) || (SSizeT)size < 0) return 0;
    const Addr fresh = take(size, VG_(clo_alignment));
    if (!fresh) return 0;
    const SizeT kept = old.size < size ? old.size : size;
    VG_(memcpy)((void *)fresh, at, kept);
    drag_mark_read((Addr)at, kept);
    DragUse use = drag_use(old.at, old.size, old.birth);
    use.earlier = use.last; /* the copy is a use */
    end(&old, use);
    add(thread, fresh, size, VG_(clo_alignment));
    drag_mark_write(fresh, kept);
    return (void *)fresh;
}

static SizeT usable(ThreadId thread, void *at) {
    (void)thread;
    DragBlock block;
    return find((Addr)at, &block) ? block.size : 0;
}

void drag_blocks_start(void) {
    drag_large_start();
    VG_(needs_malloc_replacement)
    (of_size, of_size, aligned, of_size, aligned, of_alignment, of_many, release, release, release_aligned,
     release, release_aligned, resize, usable, 0);
}
