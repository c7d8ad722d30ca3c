/* malloc and free for lifetimes that end nearly in stack order. See reap/layer/stack_like.h. */
#ifndef REAP_FACE_C_STACK_H
#define REAP_FACE_C_STACK_H

#include "reap/face/c/common.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reap_stack reap_stack;

typedef struct reap_stack_options {
    size_t size;               /* of this structure */
    size_t memory;             /* bytes for objects and their headers of 8 bytes, taken at the start */
    bool grows;                /* whether as much again is taken when the end is reached */
    const reap_source *source; /* where memory comes from; null: the library's cached pages. It is copied. */
} reap_stack_options;

#define REAP_STACK_OPTIONS_INIT {sizeof(reap_stack_options), (size_t)30 << 20, false, NULL}

/* In bytes; pieces are counted. */
typedef struct reap_stack_statistics {
    size_t size; /* of this structure, set by the caller */
    size_t held;
    size_t used;
    size_t pieces;
} reap_stack_statistics;

/* Makes a stack, with default options for null, and takes its memory. Returns null: with ENOMEM if there is
 * none, with EINVAL for an impossible size. */
REAP_API reap_stack *reap_stack_create(const reap_stack_options *options);
REAP_API void reap_stack_destroy(reap_stack *stack);

REAP_API void *reap_stack_allocate(reap_stack *stack, size_t size);
REAP_API void *reap_stack_allocate_aligned(reap_stack *stack, size_t size, size_t alignment);
/* Frees an object, in any order; its memory is reused once all younger objects are freed as well. */
REAP_API void reap_stack_deallocate(reap_stack *stack, void *object);
/* Frees all objects. */
REAP_API void reap_stack_reset(reap_stack *stack);

/* Whether the address lies in memory of this stack. */
REAP_API bool reap_stack_owns(const reap_stack *stack, const void *address);
/* Fills in as many fields as `statistics->size` has room for. */
REAP_API void reap_stack_get_statistics(const reap_stack *stack, reap_stack_statistics *statistics);
/* Writes them as a JSON object of at most `size` bytes; see reap/face/c/common.h. */
REAP_API size_t reap_stack_statistics_json(const reap_stack *stack, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
