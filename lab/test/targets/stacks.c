/* Allocates from known stacks: what each function keeps, frees at once, or needs for a moment is in its name.
 */
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static void *volatile kept;

APART static void *allocate(size_t size) {
    void *volatile block = malloc(size);
    return block;
}

APART static void keeps_ten_of_100(void) {
    for (int i = 0; i < 10; i++) kept = allocate(100);
}

APART static void frees_fifty_of_64(void) {
    for (int i = 0; i < 50; i++) free(allocate(64));
}

APART static void peaks_with_a_megabyte(void) {
    void *large = allocate(1 << 20);
    void *small = allocate(16);
    free(large);
    free(small);
}

int main(void) {
    keeps_ten_of_100();
    frees_fifty_of_64();
    peaks_with_a_megabyte();
    return 0;
}
