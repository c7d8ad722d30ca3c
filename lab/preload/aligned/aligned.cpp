/* libreap-aligned.so: aligned_alloc and memalign for an allocator that lacks them, as Hoard lacks the first.
 *
 * It is preloaded behind the allocator, so that the C library's, whose blocks the allocator cannot free, are
 * not reached. The block comes from the allocator's own memalign, or from its posix_memalign where it has no
 * memalign.
 *
 * Freestanding C++20: needs libc alone and allocates nothing itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include <malloc.h>

#include "platform.h"

REAP_EXPORT void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
