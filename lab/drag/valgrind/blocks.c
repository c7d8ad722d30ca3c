/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* The malloc family, which the tool serves itself, and a record for each block in use. */
#include "engine.h"
#include "reap_drag.h"
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_options.h>
#include <pub_tool_oset.h>
#include <pub_tool_replacemalloc.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_tooliface.h>
#include <valgrind.h>

static OSet *by_address; /* made by the first question of whose block an address is */

typedef struct {
    Addr at;
    SizeT size;
} Place;

static Word compare_places(const void *key, const void *element) {
    const Addr wanted = *(const Addr *)key;
    const Place *place = element;
    if (wanted < place->at) return -1;
    return wanted >= place->at + (place->size ? place->size : 1) ? 1 : 0;
}

static void add_place(const DragBlock *block) {
    Place *place = VG_(OSetGen_AllocNode)(by_address, sizeof(Place));
    place->at = block->at;
    place->size = block->size;
    VG_(OSetGen_Insert)(by_address, place);
}

static void remove_place(const DragBlock *block) {
    Place *place = VG_(OSetGen_Remove)(by_address, &block->at);
    if (place) VG_(OSetGen_FreeNode)(by_address, place);
}

Bool drag_block_around(Addr at, DragBlock *block) {
    if (!by_address) {
        by_address = VG_(OSetGen_Create)(0, compare_places, VG_(malloc), "drag.places", VG_(free));
        drag_table_each(add_place);
    }
    const Place *place = VG_(OSetGen_LookupWithCmp)(by_address, &at, compare_places);
    return place && drag_table_find(place->at, block);
}

static void add(ThreadId thread, Addr at, SizeT size) {
    if (!drag_tick()) return;
    drag_write_alloc(REAP_DRAG_ALLOC, thread, size);
    const DragBlock block = {.at = at, .size = size, .birth = drag_now()};
    drag_table_add(at, size, block.birth);
    if (by_address) add_place(&block);
}

static void write_block(UInt kind, const DragBlock *block) {
    drag_write_free(kind, block->birth, drag_use(block->at, block->size, block->birth));
}

static void write_live(const DragBlock *block) { write_block(REAP_DRAG_LIVE, block); }

void drag_blocks_write_live(void) { drag_table_each(write_live); }

/* Small blocks that were freed, by size in 16 bytes and at most 32 KiB of each, to be used again at once:
 * Valgrind's own allocator takes its time. They lie in tables of ours, where no write after free reaches
 * them. */
enum { CLASSES = 65, KEPT_BYTES = 1 << 15 };
static struct {
    Addr *blocks;
    UWord count;
} kept[CLASSES];

static UWord class_of(SizeT size) { return (size + 15) / 16 + (size == 0); }

static void *take(SizeT size, SizeT alignment) {
    const UWord class = class_of(size);
    if (class >= CLASSES) return VG_(cli_malloc)(alignment, size);
    if (alignment == VG_(clo_alignment) && kept[class].count > 0)
        return (void *)kept[class].blocks[--kept[class].count];
    return VG_(cli_malloc)(alignment, class * 16);
}

static void give_back(Addr at, SizeT size) {
    const UWord class = class_of(size);
    const UWord most = KEPT_BYTES / 16 / class;
    if (class >= CLASSES || kept[class].count == most) return VG_(cli_free)((void *)at);
    if (!kept[class].blocks) kept[class].blocks = VG_(malloc)("drag.kept", most * sizeof(Addr));
    kept[class].blocks[kept[class].count++] = at;
}

static void *serve(ThreadId thread, SizeT size, SizeT alignment, Bool zero) {
    if ((SSizeT)size < 0) return 0;
    void *at = take(size, alignment);
    if (!at) return 0;
    if (zero) VG_(memset)(at, 0, size); /* the allocator's doing: the program has not touched it */
    add(thread, (Addr)at, size);
    return at;
}

static void *of_size(ThreadId thread, SizeT size) { return serve(thread, size, VG_(clo_alignment), False); }

/* From Valgrind 3.22 on the alignment comes a second time, as the program gave it. */
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

/* What is no block of ours is left alone: the program frees something twice, or from before. */
static void release(ThreadId thread, void *at) {
    (void)thread;
    DragBlock block;
    if (!drag_table_find((Addr)at, &block)) return;
    write_block(REAP_DRAG_FREE, &block);
    if (by_address) remove_place(&block);
    give_back(block.at, block.size);
    drag_table_remove(block.at);
}

static void release_aligned(ThreadId thread, void *at, SizeT alignment) {
    (void)alignment;
    release(thread, at);
}

/* A free and an allocation: the copy reads the old block before the clock's step and writes the new one after
 * it. */
static void *resize(ThreadId thread, void *at, SizeT size) {
    if (!at) return of_size(thread, size);
    if (size == 0) {
        release(thread, at);
        return 0;
    }
    DragBlock old;
    if (!drag_table_find((Addr)at, &old) || (SSizeT)size < 0) return 0;
    void *fresh = take(size, VG_(clo_alignment));
    if (!fresh) return 0;
    const SizeT kept = old.size < size ? old.size : size;
    VG_(memcpy)(fresh, at, kept);
    drag_mark_read((Addr)at, kept);
    release(thread, at);
    add(thread, (Addr)fresh, size);
    drag_mark_write((Addr)fresh, kept);
    return fresh;
}

static SizeT usable(ThreadId thread, void *at) {
    (void)thread;
    DragBlock block;
    return drag_table_find((Addr)at, &block) ? block.size : 0;
}

void drag_blocks_start(void) {
    drag_table_start();
    VG_(needs_malloc_replacement)
    (of_size, of_size, aligned, of_size, aligned, of_alignment, of_many, release, release, release_aligned,
     release, release_aligned, resize, usable, 0);
}
