/* A stack of objects: freeing one frees all that were allocated after it. See reap/layer/obstack.h. */
#ifndef REAP_FACE_C_OBSTACK_H
#define REAP_FACE_C_OBSTACK_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reap_obstack reap_obstack;

/* Sizes in bytes. */
typedef struct reap_obstack_options {
    size_t size;               /* of this structure */
    size_t first_chunk;        /* taken at the first allocation */
    size_t growth;             /* each further chunk is this many times as large */
    size_t largest_chunk;      /* maximum size of a chunk, unless for one object */
    size_t limit;              /* maximum that the obstack may hold */
    const reap_source *source; /* where chunks come from; null: the library's cached pages. It is copied. */
} reap_obstack_options;

#define REAP_OBSTACK_OPTIONS_INIT                                                                            \
    {sizeof(reap_obstack_options), (size_t)8 << 10, 2, (size_t)1 << 20, (size_t)-1, NULL}

/* In bytes; chunks are counted. */
typedef struct reap_obstack_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t used;
    size_t spare;
    size_t chunks;
} reap_obstack_statistics;

/* Makes an obstack, with default options for null. It takes no chunk yet. */
REAP_API reap_obstack *reap_obstack_create(const reap_obstack_options *options);
REAP_API void reap_obstack_destroy(reap_obstack *obstack);

REAP_API void *reap_obstack_allocate(reap_obstack *obstack, size_t size);
REAP_API void *reap_obstack_allocate_aligned(reap_obstack *obstack, size_t size, size_t alignment);
/* Frees the object and all that was allocated after it. Returns false, with EINVAL, and does nothing if the
 * address is not in this obstack. Null is ignored: true. */
REAP_API bool reap_obstack_free_from(reap_obstack *obstack, void *object);

/* Appends bytes to the growing object, or begins one; null for `data` appends uninitialized bytes. Each call
 * may move the object. While it grows nothing else can be allocated. Returns false if memory is exhausted:
 * the object is then unchanged. */
REAP_API bool reap_obstack_grow(reap_obstack *obstack, const void *data, size_t size);
/* The current address of the growing object, and its size in bytes. */
REAP_API void *reap_obstack_base(const reap_obstack *obstack);
REAP_API size_t reap_obstack_growing(const reap_obstack *obstack);
/* Ends the growth, and returns the object, at its final address; null, with EINVAL, if no object is
 * growing. */
REAP_API void *reap_obstack_finish(reap_obstack *obstack);
/* Ends the growth, and frees the object. */
REAP_API void reap_obstack_drop(reap_obstack *obstack);

/* Frees everything, and keeps up to `keep` bytes of chunks for reuse: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_obstack_reset(reap_obstack *obstack, size_t keep);

/* Whether the address lies in memory of this obstack. */
REAP_API bool reap_obstack_owns(const reap_obstack *obstack, const void *address);
/* Fills in as many fields as `statistics->size` has room for. */
REAP_API void reap_obstack_get_statistics(const reap_obstack *obstack, reap_obstack_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_obstack_statistics_json(const reap_obstack *obstack, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
