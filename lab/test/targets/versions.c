/* Two builds of one program: MORE is how often `keeps` is called, and what only one of them does is in MODE.
 *
 * Line numbers and addresses differ between the builds, as PADDING is a function of another size.
 */
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

#ifndef MORE
#define MORE 10
#endif

static void *volatile kept;
volatile int padding;

APART static void pads(void) {
#ifdef NEWER
    for (int i = 0; i < 3; i++) padding += i * padding;
    padding ^= 7;
#endif
    padding++;
}

APART static void *allocate(size_t size) {
    void *volatile block = malloc(size);
    return block;
}

APART static void keeps(void) {
    for (int i = 0; i < MORE; i++) kept = allocate(100);
}

APART static void frees_at_once(void) {
    for (int i = 0; i < 50; i++) free(allocate(64));
}

#ifdef NEWER
APART static void comes(void) { free(allocate(3000)); }
#else
APART static void goes(void) { free(allocate(500)); }
#endif

int main(void) {
    pads();
    keeps();
    frees_at_once();
#ifdef NEWER
    comes();
#else
    goes();
#endif
    return 0;
}
