/* Large objects that another thread frees do not stay resident until their owner, who allocates small objects
 * alone, asks for large ones again. */
#include "bugs.h"

#include <pthread.h>

enum { count = 200, size = 1 << 20 };

static char *objects[count];
static pthread_barrier_t step;

static void *own(void *argument) {
    for (size_t at = 0; at < count; ++at) {
        objects[at] = malloc(size);
        if (objects[at] == NULL) exit(1);
        memset(objects[at], 1, size);
    }
    pthread_barrier_wait(&step); /* allocated */
    pthread_barrier_wait(&step); /* freed */
    void *small[100] = {NULL};
    for (size_t turn = 0; turn < 20000; ++turn) {
        free(small[turn % 100]);
        small[turn % 100] = malloc(20 + turn % 300);
    }
    for (size_t at = 0; at < 100; ++at) free(small[at]);
    pthread_barrier_wait(&step); /* measured */
    return argument;
}

int main(void) {
    pthread_t owner;
    if (pthread_barrier_init(&step, NULL, 2) != 0 || pthread_create(&owner, NULL, own, NULL) != 0) return 2;
    pthread_barrier_wait(&step);
    const size_t before = status_kb("VmRSS");
    expect(before > 200UL * 1024, "all are resident");
    for (size_t at = 0; at < count; ++at) free(objects[at]);
    expect(status_kb("VmRSS") < before - 160UL * 1024, "but for what an owner keeps, they go back at once");
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    pthread_join(owner, NULL);
    expect(status_kb("VmRSS") < before - 160UL * 1024, "and stay gone");
    return failures;
}
