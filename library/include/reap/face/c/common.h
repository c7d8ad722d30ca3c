/* What all layers have in common in C.
 *
 * Handles are opaque: a layer is made by reap_X_create() and ended by reap_X_destroy(). What fails gives null
 * or false and sets errno: EINVAL for an alignment that is no power of two, or options that cannot be; ENOMEM
 * for all else. Nothing is thrown, and what a callback throws ends the program. Freeing and destroying null
 * does nothing. A size of 0 counts as 1; memory is aligned to 16 bytes, where no alignment is asked for. No
 * handle may be used by two threads at a time; different handles may.
 *
 * Options begin with their size, which tells the library which version of the structure the caller knows.
 * Initialise them with the macro, and change what is to be different:
 *
 *     reap_region_options options = REAP_REGION_OPTIONS_INIT;
 *     options.limit = 1 << 20;
 *     reap_region *region = reap_region_create(&options);
 *
 * Fields are only ever added, at the end, and mean at 0 what was so before. A caller that sets a field that
 * this library does not know is refused, with EINVAL.
 *
 * reap_X_statistics_json() writes the same figures as reap_X_get_statistics(), as one JSON object:
 * {"held":8192,"used":100}. Keys are the fields' names, values numbers without a sign. It returns the length
 * of the whole text, as snprintf() does: where that is not less than `size`, the text was cut. It ends with a
 * null character anyway, unless `size` is 0. 256 bytes are enough. Nothing is allocated.
 */
#ifndef REAP_FACE_C_COMMON_H
#define REAP_FACE_C_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define REAP_API __attribute__((visibility("default")))
#else
#define REAP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Where a layer takes its memory from, if not from the library's own cached pages. It outlives the layer.
 * `allocate` gives null where it has none; `deallocate` is told size and alignment again. */
typedef struct reap_source {
    void *context; /* passed to both */
    void *(*allocate)(void *context, size_t size, size_t alignment);
    void (*deallocate)(void *context, void *data, size_t size, size_t alignment);
} reap_source;

/* A place to come back to, in a layer that can be rewound. */
typedef struct reap_mark {
    void *record;
    uint64_t serial;
} reap_mark;

/* What a library in checked mode finds; see docs/library/checked-mode.md. */
typedef enum reap_misuse {
    REAP_MISUSE_OVERFLOW,
    REAP_MISUSE_UNDERFLOW,
    REAP_MISUSE_USE_AFTER_FREE,
    REAP_MISUSE_USE_AFTER_REWIND,
    REAP_MISUSE_USE_AFTER_RESET,
    REAP_MISUSE_DOUBLE_FREE,
    REAP_MISUSE_FOREIGN_FREE,
    REAP_MISUSE_WRONG_SIZE,
    REAP_MISUSE_STALE_MARK,
    REAP_MISUSE_INTERIOR_FREE,
    REAP_MISUSE_CORRUPTION,
    REAP_MISUSE_SKIPPED_DESTRUCTOR
} reap_misuse;

/* Told of each misuse: the object's address, its size or 0, and the layer, as "Region". If it returns, the
 * call that found the misuse does nothing more. It may be called by any thread. */
typedef void (*reap_misuse_handler)(reap_misuse what, const void *address, size_t size, const char *layer);

/* Has the handler told of what is found in layers that were made here. Null stands for the default: a line on
 * standard error, and abort(). */
REAP_API void reap_set_misuse_handler(reap_misuse_handler handler);

/* The library's version, as "0.1.0", and whether it was built in checked mode. */
REAP_API const char *reap_version(void);
REAP_API bool reap_is_checked(void);

#ifdef __cplusplus
}
#endif

#endif
