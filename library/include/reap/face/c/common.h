/* What all layers have in common in the C API.
 *
 * Handles are opaque: reap_X_create() makes a layer and reap_X_destroy() ends it. A call that fails returns
 * null or false and sets errno: EINVAL for an alignment that is not a power of two, or invalid options;
 * ENOMEM for everything else. Nothing is thrown, and an exception thrown by a callback ends the program.
 * Freeing and destroying null does nothing. A size of 0 counts as 1; memory is aligned to 16 bytes unless
 * another alignment is requested. A handle must not be used by two threads at a time; different handles may.
 *
 * Options begin with their size, which tells the library which version of the structure the caller knows.
 * Initialise them with the macro, then change fields:
 *
 *     reap_region_options options = REAP_REGION_OPTIONS_INIT;
 *     options.limit = 1 << 20;
 *     reap_region *region = reap_region_create(&options);
 *
 * Fields are only ever added, at the end, and 0 means the previous behaviour. Setting a field that this
 * library does not know fails with EINVAL.
 *
 * reap_X_statistics_json() writes the same figures as reap_X_get_statistics(), as one JSON object:
 * {"held":8192,"used":100}. Keys are the fields' names, values unsigned numbers. It returns the length of the
 * whole text, as snprintf() does: if that is not less than `size`, the text was truncated. It is
 * null-terminated in either case, unless `size` is 0. 256 bytes are enough. Nothing is allocated.
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

/* The source of a layer's memory, if not the library's own cached pages. It must outlive the layer.
 * `allocate` returns null on failure; `deallocate` is passed the same size and alignment. */
typedef struct reap_source {
    void *context; /* passed to both */
    void *(*allocate)(void *context, size_t size, size_t alignment);
    void (*deallocate)(void *context, void *data, size_t size, size_t alignment);
} reap_source;

/* A mark to rewind to, in a layer that can be rewound. */
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

/* Called for each misuse with the object's address, its size or 0, and the layer, e.g. "Region". If it
 * returns, the call that found the misuse does nothing more. Any thread may call it. */
typedef void (*reap_misuse_handler)(reap_misuse what, const void *address, size_t size, const char *layer);

/* Installs the handler for misuse found in layers that were made by this library. Null stands for the
 * default: a line on standard error, then abort(). */
REAP_API void reap_set_misuse_handler(reap_misuse_handler handler);

/* The library's version, e.g. "0.1.0", and whether it was built in checked mode. */
REAP_API const char *reap_version(void);
REAP_API bool reap_is_checked(void);

#ifdef __cplusplus
}
#endif

#endif
