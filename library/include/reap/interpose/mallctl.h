#pragma once

/* Introspection of libreap-malloc.so at run time, by name, in the manner of jemalloc's mallctl(). For C and
 * C++. A program linked with the library calls it directly; one that may or may not have it preloaded looks
 * it up by dlsym(RTLD_DEFAULT, "reap_mallctl"). docs/library/reap-malloc.md has all names. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the value of a name into `old_value`. `*old_size` is its size: exactly that of the value's type, or
 * for "stats.json" that of the buffer. A null `old_value` reads nothing; `*old_size`, unless `old_size` is
 * null, is then set to the size of the value.
 *
 * - "version", "library": const char *, of the library, as "0.1.0"; "libreap-malloc".
 * - "stats.NAME": size_t, a figure of malloc's heap. Each call reads it again.
 * - "stats.json": char [], all figures of one moment, as a JSON object that ends with a null character.
 * - "settings.NAME": size_t, in bytes, as the library was built.
 * - "purge": size_t. Returns to the system what nothing is in, as malloc_trim(), whether or not the value is
 *   read, which is by how many bytes less are mapped.
 *
 * Returns 0, or an error number, and leaves errno alone:
 *
 * - ENOENT: the name is unknown.
 * - EPERM: there is a new value, and nothing here can be set.
 * - EINVAL: `name` or `old_size` is null where it is needed, or `*old_size` is not the size of the value.
 *   Nothing is read (of "stats.json": what has room) or done, but `*old_size` is right afterwards.
 *
 * Allocates nothing. Any thread may call it at any time, but no signal handler: it takes the lock that
 * allocation takes for chunks and large objects, for a time in the number of threads' heaps; "purge" holds it
 * for a time in the number of objects in this thread's heap and in those whose threads ended. */
int reap_mallctl(const char *name, void *old_value, size_t *old_size, const void *new_value, size_t new_size);

#ifdef __cplusplus
}
#endif
