/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Memory that the program maps itself, and may carve objects out of.
 *
 * Each range of anonymous readable and writable memory is tracked from when it is mapped (or made accessible)
 * until it is unmapped. Most have no objects in them: of those only the existence is recorded.
 */
#include "engine.h"
#include "reap_drag.h"
#include <pub_tool_aspacemgr.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_oset.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_tooliface.h>

typedef struct {
    Addr at;
    SizeT size;
    UInt birth;
    Bool carved;
    Bool cut;    /* parts of the same mapping may be elsewhere */
    Bool loaded; /* it is some library's data */
} Stretch;

static OSet *stretches; /* they do not overlap */

/* Overlapping ranges compare equal. */
static Word compare(const void *key, const void *element) {
    const Stretch *wanted = key, *stretch = element;
    if (wanted->at + wanted->size <= stretch->at) return -1;
    return wanted->at >= stretch->at + stretch->size ? 1 : 0;
}

static Stretch *overlapping(Addr at, SizeT size) {
    const Stretch wanted = {.at = at, .size = size};
    return VG_(OSetGen_LookupWithCmp)(stretches, &wanted, compare);
}

static void insert(Stretch stretch) {
    if (stretch.size == 0) return;
    Stretch *node = VG_(OSetGen_AllocNode)(stretches, sizeof(Stretch));
    *node = stretch;
    VG_(OSetGen_Insert)(stretches, node);
}

/* Cuts the part that lies in a range out of a stretch. False if no stretch overlaps it. */
static Bool take(Addr at, SizeT size, Stretch *part) {
    Stretch *found = size ? overlapping(at, size) : 0;
    if (!found) return False;
    const Stretch whole = *found;
    VG_(OSetGen_Remove)(stretches, found);
    VG_(OSetGen_FreeNode)(stretches, found);
    Stretch before = whole, after = whole;
    before.cut = after.cut = True;
    *part = whole;
    part->cut = True;
    part->at = whole.at > at ? whole.at : at;
    after.at = whole.at + whole.size < at + size ? whole.at + whole.size : at + size;
    part->size = after.at - part->at;
    before.size = part->at - whole.at;
    after.size = whole.at + whole.size - after.at;
    insert(before);
    insert(after);
    return True;
}

/* Reads slots only if it matters: a mapping may be larger than its used part. */
static void write_part(UInt kind, const Stretch *part) {
    const DragUse unknown = {part->birth, part->birth, 0};
    drag_write_unmapped(kind, part->birth,
                        part->carved ? drag_use(part->at, part->size, part->birth) : unknown, part->size);
}

static void unmap(Addr at, SizeT size) {
    for (Stretch part; take(at, size, &part);) write_part(REAP_DRAG_UNMAPPED, &part);
}

/* Tracks a newly accessible range, if it is anonymous memory of the program. */
static void map(ThreadId thread, Addr at, SizeT size) {
    const NSegment *segment = VG_(am_find_nsegment)(at);
    if (size == 0 || !segment || segment->kind != SkAnonC || thread == VG_INVALID_THREADID) return;
    if (!drag_tick()) return;
    drag_write_alloc(REAP_DRAG_MAPPED, thread, size);
    insert((Stretch){.at = at, .size = size, .birth = drag_now()});
}

static void mapped(Addr at, SizeT size, Bool reads, Bool writes, Bool runs, ULong handle) {
    (void)runs;
    (void)handle;
    unmap(at, size); /* what was mapped there before */
    if (reads && writes) map(VG_(get_running_tid)(), at, size);
}

static void unmapped(Addr at, SizeT size) {
    unmap(at, size);
    drag_forget(at, size);
}

static void more_heap(Addr at, SizeT size, ThreadId thread) { map(thread, at, size); }

/* Memory that is reserved first and made accessible piece by piece. */
static void protected(Addr at, SizeT size, Bool reads, Bool writes, Bool runs) {
    (void)runs;
    if (!reads && !writes) return unmap(at, size);
    if (!reads || !writes) return;
    for (const Addr end = at + size; at < end;) {
        const Stretch *known = overlapping(at, 1);
        if (known) {
            at = known->at + known->size;
            continue;
        }
        /* Up to the next known stretch, or the end of this segment. */
        const NSegment *segment = VG_(am_find_nsegment)(at);
        Addr stop = segment && segment->end < end - 1 ? segment->end + 1 : end;
        for (const Stretch *next; (next = overlapping(at, stop - at)) != 0;) stop = next->at;
        map(VG_(get_running_tid)(), at, stop - at);
        at = stop;
    }
}

/* Moves memory with its slots. Valgrind reports the old range as unmapped after this. */
static void moved(Addr from, Addr to, SizeT size) {
    unmap(to, size);
    for (Stretch part; take(from, size, &part);) {
        drag_move(part.at, part.at - from + to, part.size);
        part.at = part.at - from + to;
        insert(part);
    }
}

/* The remaining parts of a mapping are one chunk. */
static void carve_all(UInt birth) {
    VG_(OSetGen_ResetIter)(stretches);
    for (Stretch *each; (each = VG_(OSetGen_Next)(stretches)) != 0;)
        if (each->birth == birth) each->carved = True;
}

Bool drag_mapping_carve(Addr at, SizeT size) {
    Stretch *stretch = overlapping(at, size ? size : 1);
    if (!stretch || stretch->loaded) return False;
    if (stretch->carved) return True;
    const VgSectKind section = VG_(DebugInfo_sect_kind)(0, at);
    stretch->loaded = section == Vg_SectBSS || section == Vg_SectData;
    if (stretch->loaded) return False;
    stretch->carved = True;
    if (stretch->cut) carve_all(stretch->birth);
    drag_write_carved(stretch->birth);
    return True;
}

void drag_mappings_write_live(void) {
    VG_(OSetGen_ResetIter)(stretches);
    for (const Stretch *each; (each = VG_(OSetGen_Next)(stretches)) != 0;)
        write_part(REAP_DRAG_LIVE_MAPPED, each);
}

void drag_mappings_start(void) {
    stretches = VG_(OSetGen_Create)(0, compare, VG_(malloc), "drag.stretches", VG_(free));
    VG_(track_new_mem_mmap)(mapped);
    VG_(track_die_mem_munmap)(unmapped);
    VG_(track_new_mem_brk)(more_heap);
    VG_(track_die_mem_brk)(unmapped);
    VG_(track_change_mem_mprotect)(protected);
    VG_(track_copy_mem_remap)(moved);
}
