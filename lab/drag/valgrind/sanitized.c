/* Part of Reap's drag engine, a tool for Valgrind, with whose libraries it is linked.
 *
 * Copyright (c) 2026 The Reap authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
/* Programs built with a sanitizer, which end at once under Valgrind: its runtime finds the addresses of its
 * shadow memory in use. (LeakSanitizer's looks for no leaks there.) */
#include "engine.h"
#include <elf.h>
#include <pub_tool_libcbase.h>
#include <pub_tool_mallocfree.h>
#include <pub_tool_vkiscnums.h>

/* What a runtime that is linked in defines, and the libraries that have it. */
static const HChar *const functions[] = {"__asan_init", "__hwasan_init", "__lsan_init", "__msan_init",
                                         "__tsan_init"};
static const HChar *const libraries[] = {"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so",
                                         "libclang_rt."};

enum { MAX_TABLE = 64 << 20 };

/* These bytes of the file with a 0 after them, for VG_(free); null if it does not have them. */
static HChar *read_part(Int file, ULong at, ULong size) {
    if (size == 0 || size > MAX_TABLE) return NULL;
    HChar *part = VG_(malloc)("drag.elf", size + 1);
    part[size] = '\0';
    if (drag_system(__NR_pread64, (UWord)file, (UWord)part, size, at, 0, 0) == (Word)size) return part;
    VG_(free)(part);
    return NULL;
}

static Bool is_function(const HChar *name) {
    for (UInt i = 0; i < sizeof functions / sizeof *functions; ++i)
        if (VG_(strcmp)(name, functions[i]) == 0) return True;
    return False;
}

static Bool is_library(const HChar *name) {
    for (UInt i = 0; i < sizeof libraries / sizeof *libraries; ++i)
        if (VG_(strncmp)(name, libraries[i], VG_(strlen)(libraries[i])) == 0) return True;
    return False;
}

static Bool has_symbols(const Elf64_Shdr *section) {
    return section->sh_type == SHT_DYNSYM || section->sh_type == SHT_SYMTAB;
}

static Bool names_a_runtime(const Elf64_Shdr *section, const HChar *table, const HChar *names, ULong length) {
    if (has_symbols(section)) {
        const Elf64_Sym *symbol = (const Elf64_Sym *)table;
        for (ULong i = 0; i < section->sh_size / sizeof *symbol; ++i)
            if (symbol[i].st_shndx != SHN_UNDEF && symbol[i].st_name < length &&
                is_function(names + symbol[i].st_name))
                return True;
    } else {
        const Elf64_Dyn *entry = (const Elf64_Dyn *)table;
        for (ULong i = 0; i < section->sh_size / sizeof *entry; ++i)
            if (entry[i].d_tag == DT_NEEDED && entry[i].d_un.d_val < length &&
                is_library(names + entry[i].d_un.d_val))
                return True;
    }
    return False;
}

static Bool has_runtime(Int file, const Elf64_Ehdr *head) {
    const ULong size = (ULong)head->e_shnum * sizeof(Elf64_Shdr);
    Bool found = False;
    HChar *sections = head->e_shentsize == sizeof(Elf64_Shdr) ? read_part(file, head->e_shoff, size) : NULL;
    for (UInt i = 0; sections && i < head->e_shnum && !found; ++i) {
        const Elf64_Shdr *section = (const Elf64_Shdr *)sections + i;
        if (!has_symbols(section) && section->sh_type != SHT_DYNAMIC) continue;
        if (section->sh_link >= head->e_shnum) continue;
        const Elf64_Shdr *strings = (const Elf64_Shdr *)sections + section->sh_link;
        HChar *table = read_part(file, section->sh_offset, section->sh_size);
        HChar *names = read_part(file, strings->sh_offset, strings->sh_size);
        found = table && names && names_a_runtime(section, table, names, strings->sh_size);
        if (table) VG_(free)(table);
        if (names) VG_(free)(names);
    }
    if (sections) VG_(free)(sections);
    return found;
}

Bool drag_is_sanitized(Int folder, const HChar *path) {
    const Word file = drag_system(__NR_openat, (UWord)folder, (UWord)path, 02000000 /* O_CLOEXEC */, 0, 0, 0);
    if (file < 0) return False;
    Elf64_Ehdr head;
    const Word got = drag_system(__NR_pread64, (UWord)file, (UWord)&head, sizeof head, 0, 0, 0);
    const Bool found = got == (Word)sizeof head && VG_(memcmp)(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                       head.e_ident[EI_CLASS] == ELFCLASS64 && has_runtime((Int)file, &head);
    drag_system(__NR_close, (UWord)file, 0, 0, 0, 0, 0);
    return found;
}
