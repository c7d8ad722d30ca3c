/* Elements of one size: freed one by one or all together, and walked over meanwhile. See
 * reap/layer/mempool.h. */
#ifndef REAP_FACE_C_MEMPOOL_H
#define REAP_FACE_C_MEMPOOL_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reap_mempool reap_mempool;

typedef struct reap_mempool_options {
    size_t size;               /* of this structure */
    size_t element_size;       /* in bytes, 1 to 1024 */
    size_t elements_per_chunk; /* 0: as many as fit 64 KB */
    const reap_source *source; /* where chunks come from; null: the library's cached pages. It is copied. */
} reap_mempool_options;

#define REAP_MEMPOOL_OPTIONS_INIT {sizeof(reap_mempool_options), 0, 0, NULL}

/* Bytes held and spare; elements and chunks are counted. */
typedef struct reap_mempool_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t live;
    size_t chunks;
    size_t spare;
} reap_mempool_statistics;

/* Makes a pool. The element size is to be set; it is rounded up, by an eighth at most beyond 64 bytes, and to
 * a multiple of 8 below. Elements are aligned to 16 if their size is a multiple of that, else to 8. It takes
 * no chunk yet. Null, with EINVAL, for sizes that cannot be served. */
REAP_API reap_mempool *reap_mempool_create(const reap_mempool_options *options);
REAP_API void reap_mempool_destroy(reap_mempool *pool);

/* An element with no value yet. */
REAP_API void *reap_mempool_allocate(reap_mempool *pool);
/* Takes an element back; its place is the next to be used again. */
REAP_API void reap_mempool_deallocate(reap_mempool *pool, void *element);
/* Frees all elements, and keeps up to `keep` bytes of chunks to be used again: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_mempool_clear(reap_mempool *pool, size_t keep);

/* Calls visit(element, argument) for each element, in no promised order, until one call says false; says
 * whether none did. `visit` may allocate and free elements, this one too: an element that lives all the time
 * is visited once, one that is freed is not visited any more. It must not clear the pool. */
REAP_API bool reap_mempool_each(reap_mempool *pool, bool (*visit)(void *element, void *argument),
                                void *argument);

/* Whether the address lies in a place of this pool. */
REAP_API bool reap_mempool_owns(const reap_mempool *pool, const void *address);
/* Fills in as much as `statistics->size` has room for. */
REAP_API void reap_mempool_get_statistics(const reap_mempool *pool, reap_mempool_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_mempool_statistics_json(const reap_mempool *pool, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
