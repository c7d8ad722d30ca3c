/* A program with two allocation sites of different drag, which computes its own drag.
 *
 *     sites OBJECTS      prints the share of the objects of `forgotten` in the total drag
 *
 * Objects of `needed` are used until shortly before they are freed, those of `forgotten` only once, at the
 * start.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 3000, SIZE = 160 };

struct object {
    char *bytes;
    uint64_t birth;
};

static struct object slots[SLOTS];

__attribute__((noinline)) static char *needed(void) {
    char *bytes = malloc(SIZE);
    return bytes ? memset(bytes, 1, SIZE) : NULL;
}

__attribute__((noinline)) static char *forgotten(void) {
    char *bytes = malloc(SIZE);
    return bytes ? memset(bytes, 2, SIZE) : NULL;
}

int main(int argc, char **argv) {
    const long count = argc == 2 ? atol(argv[1]) : 0;
    uint64_t clock = 0;
    double dragged[2] = {0, 0};
    long sum = 0;
    for (long i = 0; i < count; ++i) {
        struct object *object = &slots[i % SLOTS];
        const int late = (i % SLOTS) % 4 == 0; /* a quarter are never looked at again */
        if (object->bytes) {
            dragged[late] += (double)(clock - object->birth);
            free(object->bytes);
        }
        object->bytes = late ? forgotten() : needed();
        if (!object->bytes) return 1;
        clock += SIZE;
        object->birth = clock;
        /* Those of `needed` are used last when four fifths of their time is over. */
        struct object *other = &slots[(i + SLOTS / 5) % SLOTS];
        if (other->bytes && ((i + SLOTS / 5) % SLOTS) % 4 != 0) {
            sum += other->bytes[0];
            dragged[0] -= (double)(clock - other->birth);
        }
    }
    printf("%.4f %ld\n", dragged[1] / (dragged[0] + dragged[1]), sum);
    return 0;
}
