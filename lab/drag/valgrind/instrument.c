/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Marks each access of the program: stores the clock in the slot of its address, whose second half keeps the
 * previous value if that is of an earlier step.
 *
 * A block of code runs between two steps of the clock, so it reads the clock once, and marks an address once,
 * or again for a read after a write. Of the accesses through the stack pointer only the first in a block is
 * marked, because all are to the same stack. That suffices if the stack is an object (of a coroutine); if it
 * is the thread's own and contains a pool, all are marked: see drag_stack_pools.
 */
#include "engine.h"
#include <libvex_ir.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_tooliface.h>

enum { MAX_SEEN = 48 };

typedef struct {
    IRSB *out;
    IRTemp clock;      /* or IRTemp_INVALID until it is needed */
    IRTemp read_clock; /* the value that a read stores */
    UChar *from_stack; /* for each temporary whether it is the stack pointer and a constant */
    UInt temporaries;
    Bool stack_marked;
    UInt seen;
    struct {
        IRTemp address;
        Bool write;
    } marked[MAX_SEEN];
} Pass;

static IRExpr *word(ULong value) { return IRExpr_Const(IRConst_U64(value)); }
static IRExpr *half(UInt value) { return IRExpr_Const(IRConst_U32(value)); }

static void add(Pass *pass, IRStmt *statement) { addStmtToIRSB(pass->out, statement); }

static IRExpr *assign(Pass *pass, IRType type, IRExpr *value) {
    const IRTemp temporary = newIRTemp(pass->out->tyenv, type);
    add(pass, IRStmt_WrTmp(temporary, value));
    return IRExpr_RdTmp(temporary);
}

/* Reads the clock at its first use, which precedes all others, since the block has a single entry. */
static IRExpr *clock_of(Pass *pass) {
    if (pass->clock == IRTemp_INVALID)
        pass->clock = assign(pass, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, word((ULong)(Addr)&drag_clock)))
                          ->Iex.RdTmp.tmp;
    return IRExpr_RdTmp(pass->clock);
}

static IRExpr *read_clock_of(Pass *pass) {
    if (pass->read_clock == IRTemp_INVALID)
        pass->read_clock =
            assign(pass, Ity_I32, IRExpr_Binop(Iop_Or32, clock_of(pass), half(DRAG_READ)))->Iex.RdTmp.tmp;
    return IRExpr_RdTmp(pass->read_clock);
}

static IRExpr *slot(Pass *pass, IRExpr *address, UInt further) {
    const ULong distance = DRAG_SHADOW;
    if (address->tag == Iex_Const)
        return word(((address->Iex.Const.con->Ico.U64 + further) & (DRAG_WINDOW - 8)) + distance);
    if (further) address = assign(pass, Ity_I64, IRExpr_Binop(Iop_Add64, address, word(further)));
    IRExpr *granule = assign(pass, Ity_I64, IRExpr_Binop(Iop_And64, address, word(DRAG_WINDOW - 8)));
    return assign(pass, Ity_I64, IRExpr_Binop(Iop_Add64, granule, word(distance)));
}

static void store(Pass *pass, IRExpr *guard, IRExpr *where, IRExpr *clock) {
    add(pass, guard ? IRStmt_StoreG(Iend_LE, where, clock, guard) : IRStmt_Store(Iend_LE, where, clock));
}

static IRExpr *above(Pass *pass, IRExpr *where, UInt bytes) {
    if (where->tag == Iex_Const) return word(where->Iex.Const.con->Ico.U64 + bytes);
    return assign(pass, Ity_I64, IRExpr_Binop(Iop_Add64, where, word(bytes)));
}

static IRExpr *both(Pass *pass, IRExpr *one, IRExpr *other) {
    IRExpr *wide = assign(pass, Ity_I32, IRExpr_Unop(Iop_1Uto32, one));
    IRExpr *wider = assign(pass, Ity_I32, IRExpr_Unop(Iop_1Uto32, other));
    return assign(pass, Ity_I1,
                  IRExpr_Unop(Iop_32to1, assign(pass, Ity_I32, IRExpr_Binop(Iop_And32, wide, wider))));
}

/* `first`: the address was not marked in this block before. */
static void mark_slot(Pass *pass, IRExpr *guard, IRExpr *where, Bool write, Bool first) {
    IRExpr *clock = clock_of(pass);
    if (first) {
        IRExpr *last = assign(pass, Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, where));
        IRExpr *old = assign(pass, Ity_I1, IRExpr_Binop(Iop_CmpLT32U, last, clock));
        if (guard) old = both(pass, guard, old);
        store(pass, old, above(pass, where, DRAG_EARLIER), last);
        if (write) {
            IRExpr *read = assign(pass, Ity_I32, IRExpr_Binop(Iop_And32, last, half(DRAG_READ)));
            store(pass, guard, where, assign(pass, Ity_I32, IRExpr_Binop(Iop_Or32, clock, read)));
            return;
        }
    }
    store(pass, guard, where, read_clock_of(pass));
}

static Bool is_from_stack(const Pass *pass, const IRExpr *address) {
    return address->tag == Iex_RdTmp && address->Iex.RdTmp.tmp < pass->temporaries &&
           pass->from_stack[address->Iex.RdTmp.tmp];
}

/* The earlier access to this address in the block, of at most eight bytes. */
enum { NOTHING, WROTE, READ };
static UInt done_before(Pass *pass, const IRExpr *address, Bool write) {
    if (address->tag != Iex_RdTmp) return NOTHING;
    for (UInt i = 0; i < pass->seen; ++i)
        if (pass->marked[i].address == address->Iex.RdTmp.tmp) {
            const UInt before = pass->marked[i].write ? WROTE : READ;
            pass->marked[i].write = pass->marked[i].write && write;
            return before;
        }
    if (pass->seen < MAX_SEEN) {
        pass->marked[pass->seen].address = address->Iex.RdTmp.tmp;
        pass->marked[pass->seen++].write = write;
    }
    return NOTHING;
}

/* An access marks the granule in which it begins, and one more for each further eight bytes. */
static void mark(Pass *pass, IRExpr *address, UInt size, Bool write, IRExpr *guard) {
    if (!drag_stack_pools && is_from_stack(pass, address)) {
        if (pass->stack_marked || guard) return;
        pass->stack_marked = True;
        mark_slot(pass, 0, slot(pass, address, 0), False, True);
        return;
    }
    /* A guarded access may not happen, and a later one at the same address may be wider. */
    const UInt before = !guard && size <= 8 ? done_before(pass, address, write) : NOTHING;
    if (before == READ || (before == WROTE && write)) return;
    for (UInt further = 0; further < size; further += 8)
        mark_slot(pass, guard, slot(pass, address, further), write, before == NOTHING);
}

static UInt size_of(IRType type) { return (UInt)sizeofIRType(type); }

/* Whether a value is the stack pointer, possibly plus a constant. */
static Bool comes_from_stack(const Pass *pass, const IRExpr *value, Int stack_pointer) {
    switch (value->tag) {
    case Iex_Get:
        return value->Iex.Get.offset == stack_pointer && value->Iex.Get.ty == Ity_I64;
    case Iex_RdTmp:
        return is_from_stack(pass, value);
    case Iex_Binop:
        return (value->Iex.Binop.op == Iop_Add64 || value->Iex.Binop.op == Iop_Sub64) &&
               is_from_stack(pass, value->Iex.Binop.arg1) && value->Iex.Binop.arg2->tag == Iex_Const;
    default:
        return False;
    }
}

static void after_value(Pass *pass, const IRStmt *statement, const VexGuestLayout *layout) {
    IRExpr *value = statement->Ist.WrTmp.data;
    if (value->tag == Iex_Load) mark(pass, value->Iex.Load.addr, size_of(value->Iex.Load.ty), False, 0);
    if (statement->Ist.WrTmp.tmp < pass->temporaries)
        pass->from_stack[statement->Ist.WrTmp.tmp] = comes_from_stack(pass, value, layout->offset_SP);
}

static void after_guarded_load(Pass *pass, const IRLoadG *load) {
    IRType narrow, wide;
    typeOfIRLoadGOp(load->cvt, &wide, &narrow);
    mark(pass, load->addr, size_of(narrow), False, load->guard);
}

/* A helper written in C, which declares the memory that it reads and writes. */
static void after_helper(Pass *pass, const IRDirty *helper) {
    if (helper->mFx == Ifx_None) return;
    if (helper->mFx != Ifx_Write) mark(pass, helper->mAddr, (UInt)helper->mSize, False, helper->guard);
    if (helper->mFx != Ifx_Read) mark(pass, helper->mAddr, (UInt)helper->mSize, True, helper->guard);
}

/* After the access, so that a fault is the program's own. */
static void after(Pass *pass, const IRStmt *statement, const VexGuestLayout *layout) {
    const IRTypeEnv *types = pass->out->tyenv;
    switch (statement->tag) {
    case Ist_WrTmp:
        after_value(pass, statement, layout);
        break;
    case Ist_Store:
        mark(pass, statement->Ist.Store.addr, size_of(typeOfIRExpr(types, statement->Ist.Store.data)), True,
             0);
        break;
    case Ist_LoadG:
        after_guarded_load(pass, statement->Ist.LoadG.details);
        break;
    case Ist_StoreG: {
        const IRStoreG *it = statement->Ist.StoreG.details;
        mark(pass, it->addr, size_of(typeOfIRExpr(types, it->data)), True, it->guard);
        break;
    }
    case Ist_CAS: {
        const IRCAS *it = statement->Ist.CAS.details;
        const UInt size = size_of(typeOfIRExpr(types, it->dataLo)) * (it->dataHi ? 2 : 1);
        mark(pass, it->addr, size, False, 0);
        mark(pass, it->addr, size, True, 0);
        break;
    }
    case Ist_Dirty:
        after_helper(pass, statement->Ist.Dirty.details);
        break;
    case Ist_Put:
        /* Possibly another stack. */
        if (statement->Ist.Put.offset == layout->offset_SP && !is_from_stack(pass, statement->Ist.Put.data))
            pass->stack_marked = False;
        break;
    default:
        break;
    }
}

IRSB *drag_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                      const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                      IRType host_word) {
    (void)closure;
    (void)extents;
    (void)host;
    tl_assert(guest_word == host_word && guest_word == Ity_I64);
    const UInt temporaries = (UInt)in->tyenv->types_used;
    UChar from_stack[temporaries + 1];
    for (UInt i = 0; i <= temporaries; ++i) from_stack[i] = 0;
    Pass pass = {.out = deepCopyIRSBExceptStmts(in),
                 .clock = IRTemp_INVALID,
                 .read_clock = IRTemp_INVALID,
                 .from_stack = from_stack,
                 .temporaries = temporaries};
    Int i = 0;
    for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; ++i) add(&pass, in->stmts[i]);
    for (; i < in->stmts_used; ++i) {
        add(&pass, in->stmts[i]);
        after(&pass, in->stmts[i], layout);
    }
    return pass.out;
}
