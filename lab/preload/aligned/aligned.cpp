/* libreap-aligned.so: aligned_alloc and memalign for an allocator that lacks them; Hoard lacks the first.
 *
 * It is preloaded after the allocator and hides the C library's functions, whose blocks the allocator cannot
 * free. The block comes from the allocator's own memalign, or from its posix_memalign if it has no memalign.
 *
 * Freestanding C++20: depends on libc only and allocates nothing itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include <malloc.h>

#include "platform.h"

REAP_EXPORT void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
