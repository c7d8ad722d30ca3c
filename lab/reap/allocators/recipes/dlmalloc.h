/* The part of dlmalloc's interface that benchmarks need: the heaps of one's own, and the allocator under a
 * prefix. The source that the registry carries comes without a header. Link libdlmalloc.a. */
#ifndef REAP_DLMALLOC_H
#define REAP_DLMALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *mspace;

mspace create_mspace(size_t capacity, int locked);
size_t destroy_mspace(mspace space);
int mspace_track_large_chunks(mspace space, int enable);
void *mspace_malloc(mspace space, size_t size);
void *mspace_calloc(mspace space, size_t count, size_t size);
void *mspace_realloc(mspace space, void *block, size_t size);
void *mspace_memalign(mspace space, size_t alignment, size_t size);
void mspace_free(mspace space, void *block);

void *dlmalloc(size_t size);
void *dlcalloc(size_t count, size_t size);
void *dlrealloc(void *block, size_t size);
void *dlmemalign(size_t alignment, size_t size);
void dlfree(void *block);

#ifdef __cplusplus
}
#endif

#endif
