/* calloc() zeroes what memalign() had. */
#include "bugs.h"

int main(void) {
    for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 2) {
        for (size_t size = 8; size <= 4096; size *= 2) {
            char *volatile object = memalign(alignment, size);
            if (object == NULL) return 1;
            memset(object, 0x50, size);
            free(object);
            const char *volatile zeroed = calloc(1, size);
            if (zeroed == NULL) return 1;
            for (size_t at = 0; at < size; ++at) {
                if (zeroed[at] == 0) continue;
                printf("calloc(1, %zu) after memalign(%zu, %zu): byte %zu is %d\n", size, alignment, size, at,
                       zeroed[at]);
                return 1;
            }
            free((void *)zeroed);
        }
    }
    return 0;
}
