/* A reap: a region that can free single objects. See reap/layer/reap.h.
 *
 * Its superblocks are 2 MB large and aligned to 2 MB: a caller's own source is asked for these, and for
 * nothing smaller.
 */
#ifndef REAP_FACE_C_REAP_H
#define REAP_FACE_C_REAP_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reap_reap reap_reap;

/* Sizes in bytes; chunks have powers of two, from 8 KB to 1 MB. */
typedef struct reap_reap_options {
    size_t size;          /* of this structure */
    size_t first_chunk;   /* taken at the first allocation */
    size_t growth;        /* each further chunk is this many times as large */
    size_t largest_chunk; /* maximum size of a chunk, unless for one object */
    size_t large_object;  /* larger objects, and those over 512 KB, get memory of their own, until freed */
    size_t limit;         /* maximum that the reap may hold */
    const reap_source *source; /* source of superblocks; null: the process's own. It is copied. */
} reap_reap_options;

#define REAP_REAP_OPTIONS_INIT                                                                               \
    {sizeof(reap_reap_options), (size_t)8 << 10, 2, (size_t)1 << 20, (size_t)256 << 10, (size_t)-1, NULL}

/* In bytes; chunks and large objects are counted. */
typedef struct reap_reap_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t live;         /* used by objects, rounding included */
    size_t free;         /* room for objects in chunks in use */
    size_t largest_hole; /* the largest piece of that */
    size_t spare;        /* in empty chunks */
    size_t chunks;
    size_t large_objects;
} reap_reap_statistics;

/* Makes a reap, with default options for null. It takes no chunk yet. */
REAP_API reap_reap *reap_reap_create(const reap_reap_options *options);
/* Frees everything, runs the callbacks of reap_reap_at_end(), and ends the reaps nested in this one. */
REAP_API void reap_reap_destroy(reap_reap *reap);

/* A reap nested in `parent`. It ends, and its handle with it, when the parent is rewound past this call,
 * reset or destroyed; or earlier, by reap_reap_destroy(). It takes its chunks from the same superblocks;
 * `options->source` must be null. */
REAP_API reap_reap *reap_reap_nest(reap_reap *parent, const reap_reap_options *options);

REAP_API void *reap_reap_allocate(reap_reap *reap, size_t size);
/* Alignments up to 1 GB; 2 MB in checked mode. */
REAP_API void *reap_reap_allocate_aligned(reap_reap *reap, size_t size, size_t alignment);
REAP_API void reap_reap_deallocate(reap_reap *reap, void *object);
/* Sized deallocation: the size is the requested one, or the usable one. Saves a memory access. Not for
 * objects of reap_reap_allocate_aligned(), reallocated or not. */
REAP_API void reap_reap_deallocate_sized(reap_reap *reap, void *object, size_t size);
/* Resizes an object, keeping its contents up to the smaller size: in place, or moved, aligned to 16, and the
 * old one is freed. Null allocates a new object. If it fails, the object is unchanged. */
REAP_API void *reap_reap_reallocate(reap_reap *reap, void *object, size_t size);
/* Resizes an object in place, and returns whether it could. */
REAP_API bool reap_reap_resize(reap_reap *reap, void *object, size_t size);
/* The usable size of an object in bytes: at least the requested size. 0 for null. */
REAP_API size_t reap_reap_usable_size(const reap_reap *reap, const void *object);

/* Registers run(argument) to be called when the reap is rewound past this call, reset or destroyed, the
 * youngest first: C's counterpart of a destructor. */
REAP_API bool reap_reap_at_end(reap_reap *reap, void (*run)(void *argument), void *argument);

/* Takes a mark; returns false if there is no memory for its 64 bytes. While a mark exists, freed memory is
 * not reused. */
REAP_API bool reap_reap_mark(reap_reap *reap, reap_mark *mark);
/* Frees everything allocated since the mark. Returns false, with EINVAL, and does nothing if the mark is
 * stale. */
REAP_API bool reap_reap_rewind(reap_reap *reap, reap_mark mark);
/* Frees everything, and keeps up to `keep` bytes of chunks for reuse: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_reap_reset(reap_reap *reap, size_t keep);
/* Coalesces free memory, and returns empty chunks to the source until at most `keep` bytes of them are left.
 * Linear in the number of objects. */
REAP_API void reap_reap_trim(reap_reap *reap, size_t keep);

/* Calls visit(object, usable, argument) for each live object, in unspecified order, until a call returns
 * false; returns whether none did. `visit` may free the object that it is passed, and must do nothing else to
 * the reap. It is also called for the records of reap_reap_nest() and reap_reap_at_end(), which must not be
 * freed. */
REAP_API bool reap_reap_each(reap_reap *reap, bool (*visit)(void *object, size_t usable, void *argument),
                             void *argument);

/* Whether the address lies in memory of this reap. Linear in the number of chunks and large objects. */
REAP_API bool reap_reap_owns(const reap_reap *reap, const void *address);
/* Checks all of the reap's metadata, and returns whether it is consistent. Linear in the number of
 * objects. */
REAP_API bool reap_reap_check(const reap_reap *reap);
/* Fills in as many fields as `statistics->size` has room for. */
REAP_API void reap_reap_get_statistics(const reap_reap *reap, reap_reap_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_reap_statistics_json(const reap_reap *reap, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
