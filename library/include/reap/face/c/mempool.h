/* Elements of one size: freed one by one or all together, and iterable meanwhile. See
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
    size_t elements_per_chunk; /* 0: as many as fit in 64 KB */
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

/* Makes a pool. The element size must be set. It is rounded up: beyond 64 bytes by at most an eighth, below
 * to a multiple of 8. Elements are aligned to 16 if their size is a multiple of that, otherwise to 8. It
 * takes no chunk yet. Returns null, with EINVAL, for unsupported sizes. */
REAP_API reap_mempool *reap_mempool_create(const reap_mempool_options *options);
REAP_API void reap_mempool_destroy(reap_mempool *pool);

/* An uninitialized element. */
REAP_API void *reap_mempool_allocate(reap_mempool *pool);
/* Frees an element; its slot is the next to be reused. */
REAP_API void reap_mempool_deallocate(reap_mempool *pool, void *element);
/* Frees all elements, and keeps up to `keep` bytes of chunks for reuse: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_mempool_clear(reap_mempool *pool, size_t keep);

/* Calls visit(element, argument) for each element, in unspecified order, until a call returns false; returns
 * whether none did. `visit` may allocate and free elements, including the current one. An element that lives
 * throughout is visited exactly once; a freed one is no longer visited. `visit` must not clear the pool. */
REAP_API bool reap_mempool_each(reap_mempool *pool, bool (*visit)(void *element, void *argument),
                                void *argument);

/* Whether the address lies in a slot of this pool. */
REAP_API bool reap_mempool_owns(const reap_mempool *pool, const void *address);
/* Fills in as many fields as `statistics->size` has room for. */
REAP_API void reap_mempool_get_statistics(const reap_mempool *pool, reap_mempool_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_mempool_statistics_json(const reap_mempool *pool, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
