/* snmalloc under names of its own; upstream has no header for them. Link libsnmalloc.a with g++ or -lstdc++.
 */
#ifndef REAP_SNMALLOC_H
#define REAP_SNMALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *sn_malloc(size_t size);
void *sn_calloc(size_t count, size_t size);
void *sn_realloc(void *block, size_t size);
void *sn_aligned_alloc(size_t alignment, size_t size);
size_t sn_malloc_usable_size(void *block);
void sn_free(void *block);

#ifdef __cplusplus
}
#endif

#endif
