/* What a program in C outside of this tree does with libreap. */

#include <string.h>

#include <reap/face/c.h>

int main(void) {
    reap_region *const region = reap_region_create(NULL);
    char *const words = reap_region_allocate(region, 100);
    if (words == NULL || strlen(reap_version()) == 0) return 1;
    memset(words, 'x', 100);
    reap_region_destroy(region);
    return 0;
}
