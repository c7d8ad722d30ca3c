// memalign for an allocator that has only posix_memalign. By itself, so that aligned.cpp calls the
// allocator's own where there is one.
#include <errno.h>
#include <stdlib.h>

#include "platform.h"

REAP_EXPORT void *memalign(size_t alignment, size_t size) {
    void *block = nullptr;
    const int error = posix_memalign(&block, alignment < sizeof block ? sizeof block : alignment, size);
    if (error == 0) return block;
    errno = error;
    return nullptr;
}
