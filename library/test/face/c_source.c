#include <stdlib.h>

#include "c_test.h"

void *counting_allocate(void *context, size_t size, size_t alignment) {
    struct counting_source *const source = context;
    void *data = NULL;
    if (size > source->limit - source->out) return NULL;
    if (posix_memalign(&data, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
        return NULL;
    source->out += size;
    return data;
}

void counting_deallocate(void *context, void *data, size_t size, size_t alignment) {
    struct counting_source *const source = context;
    (void)alignment;
    source->out -= size;
    free(data);
}
