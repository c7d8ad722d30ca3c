// Frees memory, says so, calls malloc_trim(0) when a line comes on standard input, says so, and waits for its
// end.
//
//     trims below      one heap: blocks of 2 KB, freed below one that stays
//     trims fast       blocks of 64 bytes, which fastbins keep, in five heaps
//     trims pieces     the same, of which every hundredth block stays
//     trims threads    24 threads: blocks of 1 to 9 KB, of which one of twenty stays
//     trims buffers    8 threads: buffers of 0.2 to 2 MB, freed beside small blocks that stay
//     trims caches     32 threads that fill their thread caches
//     trims none       nothing is free
//     trims callocs    40 blocks of 8 MB with a mapping each, of which 1 MB is touched, and 60 MB of its own
//     mmap
//
// The threads wait while it trims: their heaps, and what is in their caches, stay.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static pthread_barrier_t done, end;
static const char *mode;

static void *taken(size_t size) { return memset(malloc(size), 1, size); }

// Takes `count` blocks, and frees all but one of `kept`.
static void churn(int count, size_t least, size_t most, int kept, unsigned *seed) {
    char **blocks = calloc((size_t)count, sizeof *blocks);
    for (int i = 0; i < count; i++) {
        *seed = *seed * 1103515245 + 12345;
        blocks[i] = taken(least + (*seed >> 8) % (most - least + 1));
    }
    for (int i = 0; i < count; i++) {
        if (i % kept != kept / 2) free(blocks[i]);
    }
}

static void fill_caches(void) {
    for (size_t size = 24; size <= 1032; size += 16) {
        char *blocks[7];
        for (int i = 0; i < 7; i++) blocks[i] = taken(size);
        for (int i = 0; i < 7; i++) free(blocks[i]);
    }
}

static void work(unsigned seed) {
    if (!strcmp(mode, "below")) churn(20000, 2032, 2032, 20001, &seed);
    if (!strcmp(mode, "fast")) churn(60000, 56, 56, 60001, &seed);
    if (!strcmp(mode, "pieces")) churn(60000, 56, 56, 100, &seed);
    if (!strcmp(mode, "threads")) churn(400, 1000, 9000, 20, &seed);
    if (!strcmp(mode, "caches")) fill_caches();
    for (int i = 0; !strcmp(mode, "buffers") && i < 30; i++) {
        char *buffers[4];
        for (int k = 0; k < 4; k++)
            buffers[k] = taken(200000 + (seed = seed * 1103515245 + 12345) / 8 % 1800000);
        taken(3000);
        for (int k = 0; k < 4; k++) free(buffers[k]);
    }
    if (!strcmp(mode, "below") || !strcmp(mode, "fast")) taken(64);
}

static void *in_thread(void *number) {
    work((unsigned)(size_t)number);
    pthread_barrier_wait(&done);
    pthread_barrier_wait(&end);
    return NULL;
}

int main(int count, char **words) {
    mode = count > 1 ? words[1] : "none";
    const size_t threads = !strcmp(mode, "fast") || !strcmp(mode, "pieces") ? 4
                           : !strcmp(mode, "threads")                       ? 24
                           : !strcmp(mode, "buffers")                       ? 8
                           : !strcmp(mode, "caches")                        ? 32
                                                                            : 0;
    pthread_t thread;
    pthread_barrier_init(&done, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
    for (size_t i = 0; i < threads; i++) pthread_create(&thread, NULL, in_thread, (void *)(i + 1));
    if (threads == 0 || !strcmp(mode, "fast")) work(7);
    for (int i = 0; !strcmp(mode, "callocs") && i < 40; i++) memset(calloc(8, 1 << 20), 1, 1 << 20);
    if (!strcmp(mode, "callocs")) {
        memset(mmap(NULL, 60 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 60 << 20);
    }
    pthread_barrier_wait(&done);
    puts("freed");
    fflush(stdout);
    getchar();
    malloc_trim(0);
    puts("trimmed");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
