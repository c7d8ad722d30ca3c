/* Blocks of one size, freed one by one or all together. See reap/layer/fixed_block.h. */
#ifndef REAP_FACE_C_FIXED_BLOCK_H
#define REAP_FACE_C_FIXED_BLOCK_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reap_fixed_block reap_fixed_block;

/* Sizes in bytes. */
typedef struct reap_fixed_block_options {
    size_t size;               /* of this structure */
    size_t block_size;         /* a multiple of sizeof(void *) and of the alignment */
    size_t alignment;          /* a power of two; 0: the largest that divides the block size, up to 16 */
    size_t first_chunk;        /* taken at the first allocation */
    size_t growth;             /* each further chunk is this many times as large */
    size_t largest_chunk;      /* maximum size of a chunk */
    size_t limit;              /* maximum that the pool may hold */
    const reap_source *source; /* where chunks come from; null: the library's cached pages. It is copied. */
} reap_fixed_block_options;

#define REAP_FIXED_BLOCK_OPTIONS_INIT                                                                        \
    {sizeof(reap_fixed_block_options), 64, 0, (size_t)8 << 10, 2, (size_t)1 << 20, (size_t)-1, NULL}

/* Bytes held and spare; chunks and blocks are counted. */
typedef struct reap_fixed_block_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t spare;
    size_t chunks;
    size_t live;
} reap_fixed_block_statistics;

/* Makes a pool; null options mean blocks of 64 bytes. It takes no chunk yet. Returns null, with EINVAL, for
 * an invalid block size or alignment. */
REAP_API reap_fixed_block *reap_fixed_block_create(const reap_fixed_block_options *options);
REAP_API void reap_fixed_block_destroy(reap_fixed_block *pool);

REAP_API void *reap_fixed_block_allocate(reap_fixed_block *pool);
REAP_API void reap_fixed_block_deallocate(reap_fixed_block *pool, void *block);
/* Frees everything, and keeps up to `keep` bytes of chunks for reuse: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_fixed_block_reset(reap_fixed_block *pool, size_t keep);

/* Whether the address lies in memory of this pool. */
REAP_API bool reap_fixed_block_owns(const reap_fixed_block *pool, const void *address);
/* Fills in as many fields as `statistics->size` has room for. */
REAP_API void reap_fixed_block_get_statistics(const reap_fixed_block *pool,
                                              reap_fixed_block_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_fixed_block_statistics_json(const reap_fixed_block *pool, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
