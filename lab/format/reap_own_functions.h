// Functions by which programs allocate and free: those of C, and what allocators have beside them under names
// of their own. The recorder's functions in front of them, and the uprobes on them, are made from this table.
//
// X(ALLOCATOR, name, CALL, arguments): the name is without the prefix, which is the allocator's usual one or
// one that a build gives it; CALL is an enum reap_call. Each argument is a letter:
//
//     s  size in bytes                       p  the block that is freed or resized
//     n  how many of that size               o  where the address of the new block goes
//     a  alignment                           t  text of which the block is a copy
//     f  flags of jemalloc (the lowest       m  at most so many bytes of the text
//        six bits: logarithm of alignment)   -  another
//
// A ! before them: where it fails it throws, or frees the block that it was to resize.
//
// Left out: functions of which no argument says the size (mi_realpath), and mi_expand, which changes nothing.
//
// SPDX-License-Identifier: MIT
#ifndef REAP_OWN_FUNCTIONS_H
#define REAP_OWN_FUNCTIONS_H

#include "reap_trace.h"

#define REAP_C_FUNCTIONS(X, ALLOCATOR)                                                                       \
    X(ALLOCATOR, malloc, MALLOC, "s")                                                                        \
    X(ALLOCATOR, calloc, CALLOC, "ns")                                                                       \
    X(ALLOCATOR, realloc, REALLOC, "ps")                                                                     \
    X(ALLOCATOR, reallocarray, REALLOCARRAY, "pns")                                                          \
    X(ALLOCATOR, posix_memalign, POSIX_MEMALIGN, "oas")                                                      \
    X(ALLOCATOR, aligned_alloc, ALIGNED_ALLOC, "as")                                                         \
    X(ALLOCATOR, memalign, MEMALIGN, "as")                                                                   \
    X(ALLOCATOR, valloc, VALLOC, "s")                                                                        \
    X(ALLOCATOR, pvalloc, PVALLOC, "s")                                                                      \
    X(ALLOCATOR, free, FREE, "p")                                                                            \
    X(ALLOCATOR, cfree, FREE, "p")                                                                           \
    X(ALLOCATOR, free_sized, FREE, "p-")                                                                     \
    X(ALLOCATOR, free_aligned_sized, FREE, "p--")

#define REAP_JEMALLOC_FUNCTIONS(X)                                                                           \
    X(JEMALLOC, mallocx, MALLOC, "sf")                                                                       \
    X(JEMALLOC, rallocx, REALLOC, "psf")                                                                     \
    X(JEMALLOC, xallocx, REALLOC, "ps-f") /* in place, if it can */                                          \
    X(JEMALLOC, dallocx, FREE, "pf")                                                                         \
    X(JEMALLOC, sdallocx, FREE, "p-f")

#define REAP_MIMALLOC_FUNCTIONS(X)                                                                           \
    REAP_C_FUNCTIONS(X, MIMALLOC)                                                                            \
    X(MIMALLOC, malloc_small, MALLOC, "s")                                                                   \
    X(MIMALLOC, mallocn, MALLOC, "ns")                                                                       \
    X(MIMALLOC, malloc_aligned, ALIGNED_ALLOC, "sa")                                                         \
    X(MIMALLOC, malloc_aligned_at, MALLOC, "s--")                                                            \
    X(MIMALLOC, zalloc, CALLOC, "s")                                                                         \
    X(MIMALLOC, zalloc_small, CALLOC, "s")                                                                   \
    X(MIMALLOC, zalloc_aligned, CALLOC, "sa")                                                                \
    X(MIMALLOC, zalloc_aligned_at, CALLOC, "s--")                                                            \
    X(MIMALLOC, calloc_aligned, CALLOC, "nsa")                                                               \
    X(MIMALLOC, calloc_aligned_at, CALLOC, "ns--")                                                           \
    X(MIMALLOC, reallocn, REALLOCARRAY, "pns")                                                               \
    X(MIMALLOC, reallocf, REALLOC, "!ps")                                                                    \
    X(MIMALLOC, realloc_aligned, REALLOC, "psa")                                                             \
    X(MIMALLOC, realloc_aligned_at, REALLOC, "ps--")                                                         \
    X(MIMALLOC, rezalloc, REALLOC, "ps")                                                                     \
    X(MIMALLOC, rezalloc_aligned, REALLOC, "psa")                                                            \
    X(MIMALLOC, rezalloc_aligned_at, REALLOC, "ps--")                                                        \
    X(MIMALLOC, recalloc, REALLOCARRAY, "pns")                                                               \
    X(MIMALLOC, recalloc_aligned, REALLOCARRAY, "pnsa")                                                      \
    X(MIMALLOC, recalloc_aligned_at, REALLOCARRAY, "pns--")                                                  \
    X(MIMALLOC, aligned_recalloc, REALLOCARRAY, "pnsa")                                                      \
    X(MIMALLOC, aligned_offset_recalloc, REALLOCARRAY, "pns--")                                              \
    X(MIMALLOC, strdup, MALLOC, "t")                                                                         \
    X(MIMALLOC, strndup, MALLOC, "tm")                                                                       \
    X(MIMALLOC, mbsdup, MALLOC, "t")                                                                         \
    X(MIMALLOC, free_small, FREE, "p")                                                                       \
    X(MIMALLOC, free_size, FREE, "p-")                                                                       \
    X(MIMALLOC, free_size_aligned, FREE, "p--")                                                              \
    X(MIMALLOC, free_aligned, FREE, "p-")                                                                    \
    X(MIMALLOC, new, NEW, "!s")                                                                              \
    X(MIMALLOC, new_n, NEW, "!ns")                                                                           \
    X(MIMALLOC, new_aligned, NEW, "!sa")                                                                     \
    X(MIMALLOC, new_nothrow, NEW, "s")                                                                       \
    X(MIMALLOC, new_aligned_nothrow, NEW, "sa")                                                              \
    X(MIMALLOC, new_realloc, REALLOC, "!ps")                                                                 \
    X(MIMALLOC, new_reallocn, REALLOCARRAY, "!pns")                                                          \
    X(MIMALLOC, umalloc, MALLOC, "s-")                                                                       \
    X(MIMALLOC, umalloc_small, MALLOC, "s-")                                                                 \
    X(MIMALLOC, umalloc_aligned, ALIGNED_ALLOC, "sa-")                                                       \
    X(MIMALLOC, uzalloc_small, CALLOC, "s-")                                                                 \
    X(MIMALLOC, uzalloc_aligned, CALLOC, "sa-")                                                              \
    X(MIMALLOC, ucalloc, CALLOC, "ns-")                                                                      \
    X(MIMALLOC, urealloc, REALLOC, "ps--")                                                                   \
    X(MIMALLOC, ufree, FREE, "p-")                                                                           \
    X(MIMALLOC, heap_malloc, MALLOC, "-s")                                                                   \
    X(MIMALLOC, heap_malloc_small, MALLOC, "-s")                                                             \
    X(MIMALLOC, heap_mallocn, MALLOC, "-ns")                                                                 \
    X(MIMALLOC, heap_malloc_aligned, ALIGNED_ALLOC, "-sa")                                                   \
    X(MIMALLOC, heap_malloc_aligned_at, MALLOC, "-s--")                                                      \
    X(MIMALLOC, heap_zalloc, CALLOC, "-s")                                                                   \
    X(MIMALLOC, heap_zalloc_small, CALLOC, "-s")                                                             \
    X(MIMALLOC, heap_zalloc_aligned, CALLOC, "-sa")                                                          \
    X(MIMALLOC, heap_zalloc_aligned_at, CALLOC, "-s--")                                                      \
    X(MIMALLOC, heap_calloc, CALLOC, "-ns")                                                                  \
    X(MIMALLOC, heap_calloc_aligned, CALLOC, "-nsa")                                                         \
    X(MIMALLOC, heap_calloc_aligned_at, CALLOC, "-ns--")                                                     \
    X(MIMALLOC, heap_realloc, REALLOC, "-ps")                                                                \
    X(MIMALLOC, heap_reallocn, REALLOCARRAY, "-pns")                                                         \
    X(MIMALLOC, heap_reallocf, REALLOC, "!-ps")                                                              \
    X(MIMALLOC, heap_realloc_aligned, REALLOC, "-psa")                                                       \
    X(MIMALLOC, heap_realloc_aligned_at, REALLOC, "-ps--")                                                   \
    X(MIMALLOC, heap_rezalloc, REALLOC, "-ps")                                                               \
    X(MIMALLOC, heap_rezalloc_aligned, REALLOC, "-psa")                                                      \
    X(MIMALLOC, heap_rezalloc_aligned_at, REALLOC, "-ps--")                                                  \
    X(MIMALLOC, heap_recalloc, REALLOCARRAY, "-pns")                                                         \
    X(MIMALLOC, heap_recalloc_aligned, REALLOCARRAY, "-pnsa")                                                \
    X(MIMALLOC, heap_recalloc_aligned_at, REALLOCARRAY, "-pns--")                                            \
    X(MIMALLOC, theap_malloc, MALLOC, "-s")                                                                  \
    X(MIMALLOC, theap_malloc_small, MALLOC, "-s")                                                            \
    X(MIMALLOC, theap_malloc_aligned, ALIGNED_ALLOC, "-sa")                                                  \
    X(MIMALLOC, theap_zalloc, CALLOC, "-s")                                                                  \
    X(MIMALLOC, theap_zalloc_small, CALLOC, "-s")                                                            \
    X(MIMALLOC, theap_calloc, CALLOC, "-ns")                                                                 \
    X(MIMALLOC, theap_realloc, REALLOC, "-ps")                                                               \
    X(MIMALLOC, heap_strdup, MALLOC, "-t")                                                                   \
    X(MIMALLOC, heap_strndup, MALLOC, "-tm")                                                                 \
    X(MIMALLOC, heap_alloc_new, NEW, "!-s")                                                                  \
    X(MIMALLOC, heap_alloc_new_n, NEW, "!-ns")

#define REAP_TCMALLOC_FUNCTIONS(X)                                                                           \
    REAP_C_FUNCTIONS(X, TCMALLOC)                                                                            \
    X(TCMALLOC, malloc_skip_new_handler, MALLOC, "s")                                                        \
    X(TCMALLOC, new, NEW, "!s")                                                                              \
    X(TCMALLOC, new_nothrow, NEW, "s-")                                                                      \
    X(TCMALLOC, new_aligned, NEW, "!sa")                                                                     \
    X(TCMALLOC, new_aligned_nothrow, NEW, "sa-")                                                             \
    X(TCMALLOC, newarray, NEW, "!s")                                                                         \
    X(TCMALLOC, newarray_nothrow, NEW, "s-")                                                                 \
    X(TCMALLOC, newarray_aligned, NEW, "!sa")                                                                \
    X(TCMALLOC, newarray_aligned_nothrow, NEW, "sa-")                                                        \
    X(TCMALLOC, delete, DELETE, "p")                                                                         \
    X(TCMALLOC, delete_nothrow, DELETE, "p-")                                                                \
    X(TCMALLOC, delete_sized, DELETE, "p-")                                                                  \
    X(TCMALLOC, delete_aligned, DELETE, "p-")                                                                \
    X(TCMALLOC, delete_aligned_nothrow, DELETE, "p--")                                                       \
    X(TCMALLOC, delete_sized_aligned, DELETE, "p--")                                                         \
    X(TCMALLOC, deletearray, DELETE, "p")                                                                    \
    X(TCMALLOC, deletearray_nothrow, DELETE, "p-")                                                           \
    X(TCMALLOC, deletearray_sized, DELETE, "p-")                                                             \
    X(TCMALLOC, deletearray_aligned, DELETE, "p-")                                                           \
    X(TCMALLOC, deletearray_aligned_nothrow, DELETE, "p--")                                                  \
    X(TCMALLOC, deletearray_sized_aligned, DELETE, "p--")

#define REAP_SNMALLOC_FUNCTIONS(X)                                                                           \
    REAP_C_FUNCTIONS(X, SNMALLOC)                                                                            \
    X(SNMALLOC, rust_alloc, MEMALIGN, "as")                                                                  \
    X(SNMALLOC, rust_alloc_zeroed, CALLOC, "as")                                                             \
    X(SNMALLOC, rust_realloc, REALLOC, "pa-s")                                                               \
    X(SNMALLOC, rust_dealloc, FREE, "p--")

#define REAP_RPMALLOC_FUNCTIONS(X)                                                                           \
    REAP_C_FUNCTIONS(X, RPMALLOC)                                                                            \
    X(RPMALLOC, zalloc, CALLOC, "s")                                                                         \
    X(RPMALLOC, aligned_zalloc, CALLOC, "as")                                                                \
    X(RPMALLOC, aligned_calloc, CALLOC, "ans")                                                               \
    X(RPMALLOC, aligned_realloc, REALLOC, "pas--")                                                           \
    X(RPMALLOC, malloc_heap_alloc, MALLOC, "-s")                                                             \
    X(RPMALLOC, malloc_heap_aligned_alloc, ALIGNED_ALLOC, "-as")                                             \
    X(RPMALLOC, malloc_heap_calloc, CALLOC, "-ns")                                                           \
    X(RPMALLOC, malloc_heap_aligned_calloc, CALLOC, "-ans")                                                  \
    X(RPMALLOC, malloc_heap_realloc, REALLOC, "-ps-")                                                        \
    X(RPMALLOC, malloc_heap_aligned_realloc, REALLOC, "-pas-")                                               \
    X(RPMALLOC, malloc_heap_free, FREE, "-p")

namespace reap::format {

// The place of an argument, from 0 on; -1: the function has none of this kind.
constexpr int place_of(const char *arguments, char letter) noexcept {
    const int before = *arguments == '!' ? 1 : 0;
    for (int at = before; arguments[at] != '\0'; ++at) {
        if (arguments[at] == letter) return at - before;
    }
    return -1;
}

constexpr bool frees(reap_call call) noexcept { return call == REAP_CALL_FREE || call == REAP_CALL_DELETE; }

constexpr bool resizes(reap_call call) noexcept {
    return call == REAP_CALL_REALLOC || call == REAP_CALL_REALLOCARRAY;
}

} // namespace reap::format

#endif
