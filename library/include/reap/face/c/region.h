/* A region: allocation increments a pointer, and all objects are freed together. See reap/layer/region.h.
 */
#ifndef REAP_FACE_C_REGION_H
#define REAP_FACE_C_REGION_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reap_region reap_region;

/* Sizes in bytes. */
typedef struct reap_region_options {
    size_t size;               /* of this structure */
    size_t first_chunk;        /* taken at the first allocation */
    size_t growth;             /* each further chunk is this many times as large */
    size_t largest_chunk;      /* maximum size of a chunk, unless for one object */
    size_t large_object;       /* larger objects get memory of their own; 0: every object does */
    size_t limit;              /* maximum that the region may hold */
    const reap_source *source; /* where chunks come from; null: the library's cached pages. It is copied. */
} reap_region_options;

#define REAP_REGION_OPTIONS_INIT                                                                             \
    {sizeof(reap_region_options), (size_t)8 << 10, 2, (size_t)1 << 20, (size_t)256 << 10, (size_t)-1, NULL}

/* In bytes; chunks and objects are counted. */
typedef struct reap_region_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t used;
    size_t spare;
    size_t chunks;
    size_t large_objects;
} reap_region_statistics;

/* Makes a region, with default options for null. It takes no chunk yet. */
REAP_API reap_region *reap_region_create(const reap_region_options *options);
/* Frees everything and runs the callbacks of reap_region_at_end(). */
REAP_API void reap_region_destroy(reap_region *region);

/* A region nested in `parent`. It ends when the parent is rewound past this call, reset or destroyed. It
 * takes its chunks from the same source; `options->source` must be null. Destroying it earlier is allowed,
 * and frees its memory except for the handle. */
REAP_API reap_region *reap_region_nest(reap_region *parent, const reap_region_options *options);

REAP_API void *reap_region_allocate(reap_region *region, size_t size);
REAP_API void *reap_region_allocate_aligned(reap_region *region, size_t size, size_t alignment);
/* Frees the object that was allocated last; any other stays until the region is rewound or reset. */
REAP_API void reap_region_deallocate(reap_region *region, void *object, size_t size);
/* Resizes the object that was allocated last in place, and returns whether it could. */
REAP_API bool reap_region_resize(reap_region *region, void *object, size_t old_size, size_t new_size);

/* Registers run(argument) to be called when the region is rewound past this call, reset or destroyed, the
 * youngest first: C's counterpart of a destructor. */
REAP_API bool reap_region_at_end(reap_region *region, void (*run)(void *argument), void *argument);

/* Takes a mark; returns false if there is no memory for its 48 bytes. */
REAP_API bool reap_region_mark(reap_region *region, reap_mark *mark);
/* Frees everything allocated since the mark. Returns false, with EINVAL, and does nothing if the mark is
 * stale. */
REAP_API bool reap_region_rewind(reap_region *region, reap_mark mark);
/* Frees everything, and keeps up to `keep` bytes of chunks for reuse: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_region_reset(reap_region *region, size_t keep);
/* Takes over everything that `other` holds. Returns false, with EINVAL, and does nothing if their sources
 * differ. */
REAP_API bool reap_region_splice(reap_region *region, reap_region *other);

/* Whether the address lies in memory of this region. */
REAP_API bool reap_region_owns(const reap_region *region, const void *address);
/* Fills in as many fields as `statistics->size` has room for. */
REAP_API void reap_region_get_statistics(const reap_region *region, reap_region_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_region_statistics_json(const reap_region *region, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
