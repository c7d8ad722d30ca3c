/* Small objects of the classes 32, 64, 128 and 256 bytes. See reap/layer/size_class_allocator.h. */
#ifndef REAP_FACE_C_SIZE_CLASSES_H
#define REAP_FACE_C_SIZE_CLASSES_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reap_size_classes reap_size_classes;

/* Sizes in bytes; each class has its own chunks and its own limit. */
typedef struct reap_size_classes_options {
    size_t size;               /* of this structure */
    size_t first_chunk;        /* taken at the first allocation */
    size_t growth;             /* each further chunk is this many times as large */
    size_t largest_chunk;      /* maximum size of a chunk */
    size_t limit;              /* maximum that a class may hold */
    const reap_source *source; /* where chunks come from; null: the library's cached pages. It is copied. */
} reap_size_classes_options;

#define REAP_SIZE_CLASSES_OPTIONS_INIT                                                                       \
    {sizeof(reap_size_classes_options), (size_t)8 << 10, 2, (size_t)1 << 20, (size_t)-1, NULL}

/* Bytes held; objects are counted. */
typedef struct reap_size_classes_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t live;
} reap_size_classes_statistics;

/* Makes an allocator, with default options for null. It takes no chunk yet. */
REAP_API reap_size_classes *reap_size_classes_create(const reap_size_classes_options *options);
REAP_API void reap_size_classes_destroy(reap_size_classes *classes);

/* Memory for an object of at most 256 bytes; null, with ENOMEM, for a larger one. `class_size` must not be
 * null: it receives the size of the class, all of which may be used. */
REAP_API void *reap_size_classes_allocate(reap_size_classes *classes, size_t size, size_t *class_size);
/* Frees an object, given the requested size, that of the class, or any between. */
REAP_API void reap_size_classes_deallocate(reap_size_classes *classes, void *object, size_t size);
/* Frees everything; each class keeps up to `keep` bytes of chunks for reuse: SIZE_MAX keeps all, 0 none. */
REAP_API void reap_size_classes_reset(reap_size_classes *classes, size_t keep);

/* Whether the address lies in memory of this allocator. */
REAP_API bool reap_size_classes_owns(const reap_size_classes *classes, const void *address);
/* Fills in as many fields as `statistics->size` has room for. */
REAP_API void reap_size_classes_get_statistics(const reap_size_classes *classes,
                                               reap_size_classes_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_size_classes_statistics_json(const reap_size_classes *classes, char *buffer,
                                                  size_t size);

#ifdef __cplusplus
}
#endif

#endif
