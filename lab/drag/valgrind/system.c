/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* System calls that Valgrind has no function for in its interface to tools. */
#include "engine.h"
#include <pub_tool_vki.h>
#include <pub_tool_vkiscnums.h>

Word drag_system(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f) {
    Word answer;
    register UWord r10 __asm__("r10") = d;
    register UWord r8 __asm__("r8") = e;
    register UWord r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return answer;
}

void drag_return_pages(Addr at, SizeT size) {
    enum { DO_NOT_NEED = 4 };
    drag_system(__NR_madvise, at, size, DO_NOT_NEED, 0, 0, 0);
}
