// memalign for an allocator that has only posix_memalign. In a file of its own, so that aligned.cpp calls the
// allocator's memalign if there is one.
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
