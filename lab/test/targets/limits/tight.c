// tight KB THREADS: says how many blocks of 4 KB there are under a limit of its data, after THREADS threads
// have allocated from many places each.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static void *deep(int depth, int path) {
    if (depth == 0) return malloc(100);
    void *block = path & 1 ? deep(depth - 1, path >> 1) : deep(depth - 1, path >> 1);
    return block;
}

static void *allocate(void *barrier) {
    for (int path = 0; path < 1024; ++path) free(deep(10, path));
    if (barrier != NULL) pthread_barrier_wait(barrier);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const struct rlimit limit = {strtoul(argv[1], NULL, 10) << 10, RLIM_INFINITY};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) return 3;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    enum { MOST = 100 };
    pthread_t threads[MOST];
    const int count = atoi(argv[2]);
    pthread_barrier_t all; // they are there at once
    pthread_barrier_init(&all, NULL, (unsigned)count);
    for (int number = 0; number < count; ++number) {
        if (number == MOST || pthread_create(&threads[number], &small, allocate, &all) != 0) return 4;
    }
    for (int number = 0; number < count; ++number) pthread_join(threads[number], NULL);
    allocate(NULL);
    void **last = NULL;
    int blocks = 0;
    for (void **block; (block = malloc(4096)) != NULL; last = block, ++blocks) *block = last;
    while (last != NULL) {
        void **before = *last;
        free(last);
        last = before;
    }
    printf("%d\n", blocks);
    return 0;
}
