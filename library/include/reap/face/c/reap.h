/* A reap: a region that can free single objects. See reap/layer/reap.h.
 *
 * Its superblocks have 2 MB, aligned so: a source of the caller's own is asked for these, and for nothing
 * smaller.
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
    size_t size;               /* of this structure */
    size_t first_chunk;        /* taken at the first allocation */
    size_t growth;             /* each further chunk is this many times as large */
    size_t largest_chunk;      /* no chunk becomes larger, unless for one object */
    size_t large_object;       /* what takes more, or over 512 KB, gets memory of its own, until its free */
    size_t limit;              /* what the reap may hold at most */
    const reap_source *source; /* where superblocks come from; null: the process's own. It is copied. */
} reap_reap_options;

#define REAP_REAP_OPTIONS_INIT                                                                               \
    {sizeof(reap_reap_options), (size_t)8 << 10, 2, (size_t)1 << 20, (size_t)256 << 10, (size_t)-1, NULL}

/* In bytes; chunks and large objects are counted. */
typedef struct reap_reap_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t live;         /* taken by objects, rounding included */
    size_t free;         /* room for objects in chunks in use */
    size_t largest_hole; /* the largest piece of that */
    size_t spare;        /* in chunks that nothing is in */
    size_t chunks;
    size_t large_objects;
} reap_reap_statistics;

/* Makes a reap, with default options for null. It takes no chunk yet. */
REAP_API reap_reap *reap_reap_create(const reap_reap_options *options);
/* Frees all, callbacks of reap_reap_at_end() run, and ends the reaps that are nested in this one. */
REAP_API void reap_reap_destroy(reap_reap *reap);

/* A reap whose life is inside `parent`'s: it ends when that one is rewound past this call, reset or
 * destroyed, and its handle with it; or by reap_reap_destroy() earlier. It takes its chunks from the same
 * superblocks; `options->source` is to be null. */
REAP_API reap_reap *reap_reap_nest(reap_reap *parent, const reap_reap_options *options);

REAP_API void *reap_reap_allocate(reap_reap *reap, size_t size);
/* Alignments up to 1 GB; 2 MB in checked mode. */
REAP_API void *reap_reap_allocate_aligned(reap_reap *reap, size_t size, size_t alignment);
REAP_API void reap_reap_deallocate(reap_reap *reap, void *object);
/* The same, told the size that was asked for, or what is usable: it saves a look into memory. Not for what
 * reap_reap_allocate_aligned() made, reallocated or not. */
REAP_API void reap_reap_deallocate_sized(reap_reap *reap, void *object, size_t size);
/* An object of another size with the same contents, as far as they go: where it stands, or moved, aligned to
 * 16, and the old one is freed. A new object for null. If it fails, the object is as it was. */
REAP_API void *reap_reap_reallocate(reap_reap *reap, void *object, size_t size);
/* Gives an object another size where it stands, and says whether it could. */
REAP_API bool reap_reap_resize(reap_reap *reap, void *object, size_t size);
/* How many bytes of an object may be used: at least what was asked for. 0 for null. */
REAP_API size_t reap_reap_usable_size(const reap_reap *reap, const void *object);

/* Has run(argument) called when the reap is rewound past this call, reset or destroyed, the youngest first:
 * what a destructor is to C++. */
REAP_API bool reap_reap_at_end(reap_reap *reap, void (*run)(void *argument), void *argument);

/* Takes a mark; false if there is no memory for its 64 bytes. As long as there is one, what is freed is not
 * used again. */
REAP_API bool reap_reap_mark(reap_reap *reap, reap_mark *mark);
/* Frees what was allocated since. False, with EINVAL, and nothing is done, if the mark is stale. */
REAP_API bool reap_reap_rewind(reap_reap *reap, reap_mark mark);
/* Frees all, and keeps up to `keep` bytes of chunks to be used again: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_reap_reset(reap_reap *reap, size_t keep);
/* Merges what is free, and gives chunks that nothing is in back, until at most `keep` bytes of them are left.
 * Costs time in the number of objects. */
REAP_API void reap_reap_trim(reap_reap *reap, size_t keep);

/* Calls visit(object, usable, argument) for each live object, in no promised order, until one call says
 * false; says whether none did. `visit` may free the object that it is told of, and must do nothing else to
 * the reap. It is also told of what the reap keeps for each reap_reap_nest() and reap_reap_at_end(), which is
 * not to be freed. */
REAP_API bool reap_reap_each(reap_reap *reap, bool (*visit)(void *object, size_t usable, void *argument),
                             void *argument);

/* Whether the address lies in memory of this reap. Costs time in the number of chunks and large objects. */
REAP_API bool reap_reap_owns(const reap_reap *reap, const void *address);
/* Looks at all that the reap knows of its memory, and says whether it fits together. Costs time in the number
 * of objects. */
REAP_API bool reap_reap_check(const reap_reap *reap);
/* Fills in as much as `statistics->size` has room for. */
REAP_API void reap_reap_get_statistics(const reap_reap *reap, reap_reap_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_reap_statistics_json(const reap_reap *reap, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
