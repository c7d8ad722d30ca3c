/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* When each eight bytes were last accessed, and when before that step.
 *
 * The slot of an address lies at a fixed distance above its last bits: no table has to be walked, and a mark
 * is one store. The whole span is reserved and costs nothing where nothing is touched; slots of bytes that
 * are used again need no clearing, since an older clock than an object's birth says nothing about it.
 */
#include "engine.h"
#include "reap_drag.h"
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>

enum { NO_REPLACE = 0x100000, NO_RESERVE = 0x4000, NO_HUGE_PAGES = 15, NO_DUMP = 16 };
/* MREMAP_MAYMOVE, _FIXED and _DONTUNMAP: the pages go there, and empty ones are left. */
enum { PAGES_THERE = 1 | 2 | 4 };
/* What is moved as pages, which may cost the process two mappings more: of its 65530 at most a quarter. */
#define LARGE (1ul << 24)

/* Of Valgrind's core, whose headers are not for tools: what it takes to be there, it gives to no mapping. */
extern Bool VG_(am_notify_client_mmap)(Addr at, SizeT size, UInt protection, UInt flags, Int file,
                                       Off64T offset);

typedef struct {
    UInt last; /* twice the clock, and DRAG_READ if there was a read since the bytes came to be what they are
                */
    UInt earlier;
} Slot;

static inline Slot *slot_of(Addr at) { return (Slot *)((at & (DRAG_WINDOW - 8)) + DRAG_SHADOW); }

void drag_shadow_start(void) {
    const Word at = drag_system(__NR_mmap, DRAG_SHADOW, DRAG_WINDOW, VKI_PROT_READ | VKI_PROT_WRITE,
                                VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS | NO_RESERVE | NO_REPLACE, (UWord)-1, 0);
    if (at != (Word)DRAG_SHADOW) {
        VG_(umsg)("drag: no address space: 16 TiB cannot be reserved (error %ld)\n", -at);
        VG_(exit)(1);
    }
    /* Else a program that asks for an address of its own might be given slots. */
    VG_(am_notify_client_mmap)
    (DRAG_SHADOW, DRAG_WINDOW + DRAG_BEHIND, VKI_PROT_NONE, VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS, -1, 0);
    /* A huge page would make resident what lies around the few slots that are used. */
    drag_system(__NR_madvise, DRAG_SHADOW, DRAG_WINDOW, NO_HUGE_PAGES, 0, 0, 0);
    drag_system(__NR_madvise, DRAG_SHADOW, DRAG_WINDOW, NO_DUMP, 0, 0, 0);
}

/* Whether the slots of these bytes follow each other. */
static Bool spanned(Addr at, SizeT size) {
    return size > 0 && size <= DRAG_WINDOW - (at & (DRAG_WINDOW - 1));
}

static void mark(Addr at, SizeT size, UInt read) {
    if (!spanned(at, size)) return;
    for (Slot *slot = slot_of(at); slot <= slot_of(at + size - 1); ++slot) {
        if (slot->last < drag_clock) slot->earlier = slot->last;
        slot->last = drag_clock | read | (slot->last & DRAG_READ);
    }
}

void drag_mark_read(Addr at, SizeT size) { mark(at, size, DRAG_READ); }

void drag_mark_write(Addr at, SizeT size) { mark(at, size, 0); }

DragUse drag_use(Addr at, SizeT size, UInt birth) {
    DragUse use = {birth, birth, 0};
    if (!spanned(at, size)) return use;
    const Slot *end = slot_of(at + size - 1) + 1;
    for (const Slot *slot = slot_of(at); slot < end; ++slot) {
        const UInt last = slot->last / 2;
        if (last < birth) continue; /* of what was there before */
        use.flags |= slot->last & DRAG_READ ? REAP_DRAG_READ : REAP_DRAG_WRITTEN;
        const UInt earlier = slot->last < drag_clock ? last : slot->earlier / 2;
        use.last = last > use.last ? last : use.last;
        use.earlier = earlier > use.earlier ? earlier : use.earlier;
    }
    return use;
}

void drag_forget_reads(Addr at, SizeT size) {
    if (!spanned(at, size)) return;
    for (Slot *slot = slot_of(at); slot <= slot_of(at + size - 1); ++slot)
        if (slot->last & DRAG_READ) slot->last &= ~(UInt)DRAG_READ;
}

void drag_move(Addr from, Addr to, SizeT size) {
    if (!spanned(from, size) || !spanned(to, size)) return;
    /* Of a large mapping little may have been used, and slots that are copied are there. Kernels before 5.7
     * refuse, as they do what does not begin and end with a page. */
    if (size >= LARGE && drag_system(__NR_mremap, (Addr)slot_of(from), size, size, PAGES_THERE,
                                     (Addr)slot_of(to), 0) == (Word)slot_of(to))
        return;
    VG_(memmove)(slot_of(to), slot_of(from), size);
}

void drag_forget(Addr at, SizeT size) {
    if (!spanned(at, size)) return;
    if (size < 65536)
        drag_forget_reads(at, size);
    else
        drag_return_pages((Addr)slot_of(VG_PGROUNDUP(at)), VG_PGROUNDDN(at + size) - VG_PGROUNDUP(at));
}
