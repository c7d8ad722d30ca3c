/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Exact drag: when every object of a process was allocated, last accessed and freed. */
#include "engine.h"
#include "reap_drag.h"
#include <pub_tool_aspacemgr.h>
#include <pub_tool_libcassert.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_libcprint.h>
#include <pub_tool_libcproc.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_options.h>
#include <pub_tool_tooliface.h>
#include <pub_tool_transtab.h>
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>
#include <pub_tool_xarray.h>

UInt drag_clock;
Bool drag_stack_pools;

Bool drag_tick(void) {
    enum { LAST = 0x7FFFFFFF };
    if (drag_now() == LAST) return False;
    drag_clock += 2;
    if (drag_now() == LAST) drag_write_full();
    return True;
}

/* Accesses by the kernel on the program's behalf. */
static void kernel_reads(CorePart part, ThreadId thread, const HChar *what, Addr at, SizeT size) {
    (void)thread;
    (void)what;
    if (part != Vg_CoreTranslate) drag_mark_read(at, size);
}

/* Page by page, since the string may end at the end of its mapping. */
static void kernel_reads_text(CorePart part, ThreadId thread, const HChar *what, Addr at) {
    (void)part;
    (void)thread;
    (void)what;
    for (Addr page = at; VG_(am_is_valid_for_client)(page, 1, VKI_PROT_READ); page = VG_PGROUNDUP(page + 1)) {
        const Addr end = VG_PGROUNDUP(page + 1);
        const HChar *stop = (const HChar *)page;
        while ((Addr)stop < end && *stop) ++stop;
        drag_mark_read(page, (Addr)stop - page + ((Addr)stop < end ? 1 : 0));
        if ((Addr)stop < end) return;
    }
}

static void kernel_wrote(CorePart part, ThreadId thread, Addr at, SizeT size) {
    (void)part;
    (void)thread;
    drag_mark_write(at, size);
}

static void end(UInt how) {
    drag_blocks_write_live();
    drag_pools_write_live();
    drag_mappings_write_live();
    drag_write_end(how);
}

static Bool executes(UInt number) { return number == __NR_execve || number == __NR_execveat; }

/* Whether the kernel lets the process lock unlimited memory. */
static Bool may_lock_all(void) {
    enum { VERSION = 0x20080522, LOCKS = 14 };
    struct {
        UInt version;
        Int process;
    } who = {VERSION, 0};
    struct {
        UInt effective, permitted, inheritable;
    } sets[2] = {{0, 0, 0}, {0, 0, 0}};
    drag_system(__NR_capget, (UWord)&who, (UWord)sets, 0, 0, 0, 0);
    struct vki_rlimit limit = {0, 0};
    VG_(getrlimit)(8 /* RLIMIT_MEMLOCK */, &limit);
    return (sets[0].effective >> LOCKS & 1) != 0 || limit.rlim_cur > DRAG_WINDOW;
}

/* The kernel would populate all slots, which exceeds the machine's memory. */
static void refuse_to_lock(void) {
    VG_(umsg)("drag: mlockall would lock the engine's 16 TiB of addresses, too; the program was ended\n");
    end(REAP_DRAG_EXITED);
    VG_(exit)(125);
}

extern Bool VG_(clo_trace_children); /* whether the program of the next exec is run by Valgrind */

/* Has a program with a sanitizer run as it does without Valgrind. */
static void leave_alone_sanitized(UInt number, const UWord *words) {
    enum { HERE = -100 };
    const Bool by_folder = number == __NR_execveat;
    const HChar *path = (const HChar *)words[by_folder ? 1 : 0];
    if (!VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ)) return;
    if (!drag_is_sanitized(by_folder ? (Int)words[0] : HERE, path)) return;
    VG_(umsg)("drag: %s is built with a sanitizer, which Valgrind cannot run: it ran unmeasured\n", path);
    VG_(clo_trace_children) = False;
}

static void before_call(ThreadId thread, UInt number, UWord *words, UInt count) {
    enum { LOCK_WHAT_IS_THERE = 1, WHEN_USED = 4 };
    (void)thread;
    (void)count;
    if (executes(number)) {
        leave_alone_sanitized(number, words);
        end(REAP_DRAG_EXEC);
    }
    if (number == __NR_mlockall && (words[0] & LOCK_WHAT_IS_THERE) && !(words[0] & WHEN_USED) &&
        may_lock_all())
        refuse_to_lock();
}

static void after_call(ThreadId thread, UInt number, UWord *words, UInt count, SysRes answer) {
    (void)thread;
    (void)words;
    (void)count;
    (void)answer;
    if (executes(number)) { /* the call returned, so it failed */
        VG_(clo_trace_children) = True;
        drag_write_resume();
    }
}

static void in_child(ThreadId thread) {
    (void)thread;
    drag_writer_start(drag_now(), REAP_DRAG_FORKED);
}

static Bool option(const HChar *word) {
    if (VG_STR_CLO(word, "--drag-folder", drag_folder)) return True;
    return False;
}

static void say_options(void) { VG_(printf)("    --drag-folder=DIR   where recordings go, one a process\n"); }
static void say_more_options(void) { VG_(printf)("    (none)\n"); }

extern XArray *VG_(args_for_valgrind); /* HChar*: what an exec passes on */

/* A program that this process executes keeps its number, but may have become another user, who cannot write
 * to this one's log: it gets another. */
static void rename_next_log(void) {
    const HChar *const option_name = "--log-file=";
    for (Word i = 0; VG_(args_for_valgrind) && i < VG_(sizeXA)(VG_(args_for_valgrind)); ++i) {
        HChar **word = VG_(indexXA)(VG_(args_for_valgrind), i);
        if (VG_(strncmp)(*word, option_name, VG_(strlen)(option_name)) != 0) continue;
        HChar *next = VG_(malloc)("drag.log", VG_(strlen)(*word) + sizeof ".x");
        VG_(strcpy)(next, *word);
        VG_(strcat)(next, ".x");
        *word = next;
    }
}

static void start(void) {
    rename_next_log();
    if (!drag_folder || drag_folder[0] != '/') {
        VG_(fmsg_bad_option)("--drag-folder", "it must name a folder, from the root on\n");
    }
    drag_shadow_start();
    drag_writer_start(0, 0);
    VG_(atfork)(0, 0, in_child);
}

static void finish(Int status) {
    (void)status;
    end(REAP_DRAG_EXITED);
}

static void describe(void) {
    VG_(details_name)("drag");
    VG_(details_version)("1");
    VG_(details_description)("when objects are last accessed, and when they are freed");
    VG_(details_copyright_author)("Copyright (c) 2026 The Reap authors, GNU GPL 2 or later");
    VG_(details_bug_reports_to)("Reap");
    VG_(details_avg_translation_sizeB)(400);
    VG_(basic_tool_funcs)(start, drag_instrument, finish);
    VG_(needs_command_line_options)(option, say_options, say_more_options);
    VG_(needs_client_requests)(drag_pools_request);
    VG_(needs_syscall_wrapper)(before_call, after_call);
    VG_(track_pre_mem_read)(kernel_reads);
    VG_(track_pre_mem_read_asciiz)(kernel_reads_text);
    VG_(track_post_mem_write)(kernel_wrote);
    drag_blocks_start();
    drag_pools_start();
    drag_mappings_start();
}

VG_DETERMINE_INTERFACE_VERSION(describe)
