/* dlmalloc with what it lacks to replace malloc today: it is older than aligned_alloc, and a program that
 * calls that would give a block of the C library's heap to dlmalloc's free. */
#include "dlmalloc.c" /* of libffi, found by -I */

#ifndef USE_DL_PREFIX
void *aligned_alloc(size_t alignment, size_t size) { return dlmemalign(alignment, size); }
#endif
