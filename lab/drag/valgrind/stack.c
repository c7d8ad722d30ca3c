/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Where an allocation comes from.
 *
 * Most allocations are made from where another was made before, with the stack pointer where it was. Then
 * nothing is unwound: if every return address still lies where it lay, the frames are the same. (Which place
 * that is follows from the address before it. A frame that moves its own base by a variable amount might
 * deceive this; it would make the name of a site wrong, and no figure.)
 */
#include "engine.h"
#include <pub_tool_aspacemgr.h>
#include <pub_tool_execontext.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_machine.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_options.h>
#include <pub_tool_stacktrace.h>
#include <pub_tool_threadstate.h>
#include <pub_tool_vki.h>

enum { WAYS = 4096, DEEPEST = 64 };

typedef struct {
    Addr at;    /* the program counter */
    Addr stack; /* the stack pointer */
    ExeContext *context;
    UInt depth;
    struct {
        Addr place; /* where its return address lies */
        Addr back;  /* and what it is */
    } frames[];
} Known;

static Known *known[WAYS];

static UInt most_frames(void) {
    const UInt wanted = (UInt)VG_(clo_backtrace_size);
    return wanted < DEEPEST ? wanted : DEEPEST;
}

static Bool holds(const Known *it) {
    if (it->depth == 0) return True;
    const Addr last = it->frames[it->depth - 1].place;
    if (!VG_(am_is_valid_for_client)(it->stack, last + sizeof(Addr) - it->stack, VKI_PROT_READ)) return False;
    for (UInt i = 0; i < it->depth; ++i)
        if (*(const Addr *)it->frames[i].place != it->frames[i].back) return False;
    return True;
}

/* Notes where the return addresses lie: each just below where the stack pointer is in its caller. */
static Bool learn(Known *it, ThreadId thread, Addr at, Addr stack) {
    Addr frames[DEEPEST], pointers[DEEPEST], bases[DEEPEST];
    const UInt depth = VG_(get_StackTrace)(thread, frames, most_frames(), pointers, bases, 0);
    it->at = at;
    it->stack = stack;
    it->depth = 0;
    it->context = VG_(make_ExeContext_from_StackTrace)(frames, depth);
    for (UInt i = 1; i < depth; ++i) {
        const Addr place = pointers[i] - sizeof(Addr);
        /* What Valgrind says of a frame is one byte before where it returns to. */
        if (place < stack || !VG_(am_is_valid_for_client)(place, sizeof(Addr), VKI_PROT_READ) ||
            *(const Addr *)place != frames[i] + 1)
            return False;
        it->frames[it->depth].place = place;
        it->frames[it->depth++].back = *(const Addr *)place;
    }
    return True;
}

ExeContext *drag_stack(ThreadId thread) {
    const Addr at = VG_(get_IP)(thread), stack = VG_(get_SP)(thread);
    const UWord mixed = (at * 31 + stack / 8) * 0x9E3779B97F4A7C15ul;
    Known **way = &known[mixed >> 52];
    if (*way && (*way)->at == at && (*way)->stack == stack && holds(*way)) return (*way)->context;
    if (!*way) *way = VG_(malloc)("drag.known", sizeof(Known) + most_frames() * sizeof((*way)->frames[0]));
    if (!learn(*way, thread, at, stack)) (*way)->at = 0;
    return (*way)->context;
}
