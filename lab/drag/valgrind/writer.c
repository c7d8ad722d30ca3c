/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Writes the recording. See reap_drag.h for its format.
 *
 * Events go straight into a window of the file that is mapped shared: what is in it is the kernel's, and
 * survives a SIGKILL. The room is allocated before it is mapped, so that a full disk is an error here and no
 * SIGBUS later.
 */
#include "engine.h"
#include "reap_drag.h"
#include <pub_tool_clientstate.h>
#include <pub_tool_debuginfo.h>
#include <pub_tool_execontext.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcfile.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>
#include <pub_tool_xarray.h>

const HChar *drag_folder = 0;

enum {
    WINDOW = 1 << 20,
    ROOM = 1 << 12, /* of the largest event: the command is cut to it */
    FIXED = 0x10,
    DUPLICATE_CLOSED_BY_EXEC = 1030,
    RESERVED_DESCRIPTORS = 12, /* Valgrind keeps so many of the highest for itself */
    DEEPEST = 64,
    NOT_SUPPORTED = 95,  /* EOPNOTSUPP: a file system without fallocate */
    FILE_SIZE_LIMIT = 1, /* RLIMIT_FSIZE */
    TOO_LARGE = 27       /* EFBIG */
};
static UChar *const window = (UChar *)(DRAG_SHADOW + DRAG_WINDOW + 4096);

static Int file = -1;
static ULong offset; /* of the window in the file */
static UInt used;    /* of the window */
static Bool stopped;
static UInt written; /* allocations in this file */
static UInt base_clock;

static XArray *known_stacks; /* UChar: whether this file has the stack of that number */
static struct Module {
    const DebugInfo *info;
    Addr text;
} modules[4096];
static UInt module_count;

static void give_up(const HChar *what, Word error) {
    stopped = True;
    if (file >= 0) VG_(close)(file);
    file = -1;
    VG_(umsg)("drag: recording stopped: %s (error %ld)\n", what, error);
}

/* A descriptor among those that the program cannot see, closed by exec. */
static Int hidden(Int descriptor) {
    struct vki_rlimit limit;
    if (VG_(getrlimit)(VKI_RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= RESERVED_DESCRIPTORS)
        return descriptor;
    const Word high = drag_system(__NR_fcntl, (UWord)descriptor, DUPLICATE_CLOSED_BY_EXEC,
                                  limit.rlim_cur - RESERVED_DESCRIPTORS, 0, 0, 0);
    if (high < 0) return descriptor;
    VG_(close)(descriptor);
    return (Int)high;
}

/* Beyond its limit of file sizes the program would get a signal for our doing. */
static Bool too_large(void) {
    struct vki_rlimit limit;
    return VG_(getrlimit)(FILE_SIZE_LIMIT, &limit) == 0 && offset + WINDOW > limit.rlim_cur;
}

static void map_window(void) {
    Word answer =
        too_large() ? -TOO_LARGE : drag_system(__NR_fallocate, (UWord)file, 0, offset, WINDOW, 0, 0);
    if (answer == -NOT_SUPPORTED)
        answer = drag_system(__NR_ftruncate, (UWord)file, offset + WINDOW, 0, 0, 0, 0);
    if (answer < 0) return give_up("there is no space for it", -answer);
    answer = drag_system(__NR_mmap, (UWord)window, WINDOW, VKI_PROT_READ | VKI_PROT_WRITE,
                         VKI_MAP_SHARED | FIXED, (UWord)file, offset);
    if (answer != (Word)window) give_up("its file cannot be mapped", -answer);
}

/* Makes sure that `size` more bytes fit. Whole pages move on; the part page at the end is mapped again. One
 * byte of each window is kept to say that there was no room for the next. */
static void reserve(UInt size) {
    if (stopped || used + size < WINDOW) return;
    const UInt before = used, whole = used & ~4095u;
    offset += whole;
    used -= whole;
    map_window();
    if (stopped) window[before] = REAP_DRAG_FULL;
}

static void byte(UInt value) { window[used++] = (UChar)value; }

static void number(ULong value) {
    for (; value >= 128; value >>= 7) byte((value & 127) | 128);
    byte((UInt)value);
}

static void text(const HChar *words, UInt size) {
    number(size);
    VG_(memcpy)(window + used, words, size);
    used += size;
}

static void write_command(void) {
    HChar words[ROOM / 2];
    UInt size = 0;
    const HChar *name = VG_(args_the_exename) ? VG_(args_the_exename) : "";
    const Word others = VG_(args_for_client) ? VG_(sizeXA)(VG_(args_for_client)) : 0;
    for (Word i = -1; i < others; ++i) {
        const HChar *word = i < 0 ? name : *(HChar **)VG_(indexXA)(VG_(args_for_client), i);
        const UInt length = (UInt)VG_(strlen)(word) + 1;
        if (size + length > sizeof words) break;
        VG_(memcpy)(words + size, word, length);
        size += length;
    }
    reserve(ROOM);
    if (stopped) return;
    byte(REAP_DRAG_COMMAND);
    text(words, size);
}

void drag_writer_start(UInt base, UInt flags) {
    HChar path[4096];
    if (file >= 0) VG_(close)(file);
    file = -1;
    offset = 0;
    used = 0;
    written = 0;
    module_count = 0;
    stopped = False;
    base_clock = base;
    if (known_stacks) VG_(deleteXA)(known_stacks);
    known_stacks = VG_(newXA)(VG_(malloc), "drag.stacks", VG_(free), sizeof(UChar));
    /* A process that executes another program keeps its number: the next name that is free. */
    SysRes opened;
    Int turn = 0;
    do {
        VG_(snprintf)(path, sizeof path, "%s/%d.%d.drag", drag_folder, VG_(getpid)(), turn++);
        opened = VG_(open)(path, VKI_O_CREAT | VKI_O_EXCL | VKI_O_RDWR, 0600);
    } while (sr_isError(opened) && sr_Err(opened) == VKI_EEXIST);
    if (sr_isError(opened)) return give_up("its file cannot be made", (Word)sr_Err(opened));
    file = hidden((Int)sr_Res(opened));
    map_window();
    if (stopped) return;
    const struct reap_drag_header header = {REAP_DRAG_MAGIC, (UInt)VG_(getpid)(), (UInt)VG_(getppid)(), base,
                                            flags};
    VG_(memcpy)(window, &header, sizeof header);
    used = sizeof header;
    write_command();
}

/* The number of the mapped file that an address lies in, and the address as that file's symbols have it. */
static UInt module_of(DiEpoch epoch, Addr at, Addr *inside) {
    const DebugInfo *info = VG_(find_DebugInfo)(epoch, at);
    *inside = at;
    if (!info) return 0;
    *inside = at - (Addr)VG_(DebugInfo_get_text_bias)(info);
    const Addr start = VG_(DebugInfo_get_text_avma)(info);
    for (UInt i = 0; i < module_count; ++i)
        if (modules[i].info == info && modules[i].text == start) return i + 1;
    if (module_count == sizeof modules / sizeof *modules) return 0;
    modules[module_count].info = info;
    modules[module_count++].text = start;
    const HChar *path = VG_(DebugInfo_get_filename)(info);
    const SizeT length = VG_(strlen)(path);
    byte(REAP_DRAG_MODULE);
    number(module_count);
    text(path, length > ROOM / 2 ? ROOM / 2 : (UInt)length);
    return module_count;
}

struct Frames {
    UInt count;
    UInt module[DEEPEST];
    Addr at[DEEPEST];
};

static void note_frame(UInt n, DiEpoch epoch, Addr at, void *opaque) {
    struct Frames *frames = opaque;
    if (n >= DEEPEST) return;
    reserve(ROOM);
    if (stopped) return;
    frames->module[n] = module_of(epoch, at, &frames->at[n]);
    frames->count = n + 1;
}

static UInt stack_of(ThreadId thread) {
    ExeContext *context = drag_stack(thread);
    const UInt place = VG_(get_ECU_from_ExeContext)(context) / 4;
    while (VG_(sizeXA)(known_stacks) <= (Word)place) {
        const UChar none = 0;
        VG_(addToXA)(known_stacks, &none);
    }
    UChar *known = VG_(indexXA)(known_stacks, place);
    if (*known) return place;
    *known = 1;
    struct Frames frames = {.count = 0};
    VG_(apply_ExeContext)(note_frame, &frames, context);
    reserve(ROOM);
    if (stopped) return place;
    byte(REAP_DRAG_STACK);
    number(place);
    number(frames.count);
    for (UInt i = 0; i < frames.count; ++i) {
        number(frames.module[i]);
        number(frames.at[i]);
    }
    return place;
}

void drag_write_alloc(UInt kind, ThreadId thread, SizeT size) {
    if (stopped) return;
    const UInt stack = stack_of(thread);
    reserve(32);
    if (stopped) return;
    byte(kind);
    number(stack);
    number(size);
    ++written;
}

/* Makes room for an event of an object. What was there before a fork, or came after the recording stopped, is
 * not in this file. */
static Bool room_for(UInt birth) {
    if (stopped || birth <= base_clock || birth - base_clock > written) return False;
    reserve(32);
    return !stopped;
}

void drag_write_free(UInt kind, UInt birth, DragUse use) {
    if (!room_for(birth)) return;
    byte(kind | use.flags << REAP_DRAG_KIND_BITS);
    number(drag_now() - birth);
    number(drag_now() - use.last);
    const Bool freed = kind == REAP_DRAG_FREE || kind == REAP_DRAG_UNMAPPED;
    if (freed && use.last == drag_now() && birth != drag_now()) number(drag_now() - use.earlier);
}

void drag_write_unmapped(UInt kind, UInt birth, DragUse use, SizeT bytes) {
    if (!room_for(birth)) return;
    drag_write_free(kind, birth, use);
    number(bytes);
}

void drag_write_carved(UInt birth) {
    if (!room_for(birth)) return;
    byte(REAP_DRAG_CARVED);
    number(drag_now() - birth);
}

void drag_write_end(UInt how) {
    reserve(32);
    if (stopped) return;
    byte(REAP_DRAG_END);
    number(how);
    if (how == REAP_DRAG_EXITED) drag_system(__NR_ftruncate, (UWord)file, offset + used, 0, 0, 0, 0);
}

void drag_write_resume(void) {
    reserve(32);
    if (!stopped) byte(REAP_DRAG_RESUME);
}

void drag_write_full(void) {
    if (stopped) return;
    reserve(32);
    if (!stopped) byte(REAP_DRAG_FULL);
    give_up("the clock, of 31 bits, is at its end", 0);
}
