/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* When each eight bytes were last written and last read.
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
    UInt written;
    UInt read;
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

void drag_mark_read(Addr at, SizeT size) {
    if (!spanned(at, size)) return;
    for (Slot *slot = slot_of(at); slot <= slot_of(at + size - 1); ++slot) slot->read = drag_now();
}

void drag_mark_write(Addr at, SizeT size) {
    if (!spanned(at, size)) return;
    for (Slot *slot = slot_of(at); slot <= slot_of(at + size - 1); ++slot) slot->written = drag_now();
}

DragUse drag_use(Addr at, SizeT size, UInt birth) {
    DragUse use = {birth, 0};
    if (!spanned(at, size)) return use;
    const Slot *end = slot_of(at + size - 1) + 1;
    UInt written = 0, read = 0;
    for (const Slot *slot = slot_of(at); slot < end;) {
        const Slot *stop = end - slot > 64 ? slot + 64 : end;
        for (; slot < stop; ++slot) {
            written = slot->written > written ? slot->written : written;
            read = slot->read > read ? slot->read : read;
        }
        if (written == drag_now() && read == drag_now()) break; /* it cannot be later */
    }
    if (written >= birth) use.flags |= REAP_DRAG_WRITTEN;
    if (read >= birth) use.flags |= REAP_DRAG_READ;
    const UInt last = written > read ? written : read;
    if (last > birth) use.last = last;
    return use;
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
    if (spanned(at, size) && size >= 65536)
        drag_give_back((Addr)slot_of(VG_PGROUNDUP(at)), VG_PGROUNDDN(at + size) - VG_PGROUNDUP(at));
}
