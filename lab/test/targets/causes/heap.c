// Limited by the allocator, or by memory that it keeps. All cases but `lazy` are about glibc's allocator.
#include "cause.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KB = 1024, MB = 1024 * 1024, THREADS = 4, MAX = 4096 };

static uint64_t sum_of(char *block) { return (uint64_t)block[0]; }

// `count` blocks of `least` to `most` bytes, each written to at its beginning, then freed in the same order.
static uint64_t batch(char **blocks, int count, size_t least, size_t most, uint64_t *state) {
    uint64_t sum = 0;
    for (int at = 0; at < count; at++) {
        blocks[at] = malloc(least + next_number(state) % (most - least));
        blocks[at][0] = (char)at;
    }
    for (int at = 0; at < count; at++) {
        sum += sum_of(blocks[at]);
        free(blocks[at]);
    }
    return sum;
}

// Each request makes 300 small objects and frees them: a thread's cache holds seven of each size class.
void cause_tcache(double scale) {
    char *blocks[MAX];
    uint64_t state = 1, sum = 0;
    become_threaded();
    for (long turn = (long)(160000 * scale); turn > 0; turn--) {
        const int count = cured ? 6 : 300;
        for (int made = 0; made < 300; made += count) sum += batch(blocks, count, 150, 500, &state);
        state = compute(1500, state);
    }
    printf("%lu\n", sum);
}

// The same number of small objects in all, six at a time, and ten times the work: the allocator is busy and
// on its fast path.
void cause_many(double scale) {
    char *blocks[MAX];
    uint64_t state = 1, sum = 0;
    become_threaded();
    for (long turn = (long)(4000000 * scale); turn > 0; turn--) {
        sum += batch(blocks, 6, 24, 200, &state);
        state = compute(150, state);
    }
    printf("%lu\n", sum);
}

static void *share_an_arena(void *scale) {
    char *blocks[MAX];
    uint64_t state = 1, sum = 0;
    for (long turn = (long)(30000 * *(double *)scale); turn > 0; turn--)
        sum += batch(blocks, 64, 1100, 3000, &state);
    return (void *)sum;
}

// More threads than arenas, and blocks that the thread cache does not serve: every call takes the same lock.
void cause_arena(double scale) {
    if (!cured) mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 512 * MB);
    mallopt(M_MMAP_THRESHOLD, 32 * MB);
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, share_an_arena, &scale);
    for (int at = 0; at < THREADS; at++) {
        void *result = NULL;
        pthread_join(threads[at], &result);
        sum += (uint64_t)result;
    }
    printf("%lu\n", sum);
}

// Blocks above the thread cache's largest, at the top of the heap, freed together: it shrinks and grows
// again.
void cause_brk(double scale) {
    char *blocks[MAX];
    uint64_t state = 1, sum = 0;
    if (cured) mallopt(M_TRIM_THRESHOLD, 512 * MB);
    for (long turn = (long)(20000 * scale); turn > 0; turn--) {
        sum += batch(blocks, 40, 5 * KB, 9 * KB, &state);
        state = compute(10000, state);
    }
    printf("%lu\n", sum);
}

// Blocks above a fixed mmap threshold: each is a mapping of its own.
void cause_mmap(double scale) {
    char *blocks[MAX];
    uint64_t state = 1, sum = 0;
    mallopt(M_MMAP_THRESHOLD, cured ? 32 * MB : 128 * KB);
    if (cured) mallopt(M_TRIM_THRESHOLD, 512 * MB);
    for (long turn = (long)(20000 * scale); turn > 0; turn--) {
        sum += batch(blocks, 8, 160 * KB, 400 * KB, &state);
        state = compute(10000, state);
    }
    printf("%lu\n", sum);
}

// Buffers larger than any that glibc keeps, all of each written to once; cured, one small buffer again and
// again, so that its own first pages are no part of the time even where the kernel is slow to give them.
void cause_faults(double scale) {
    uint64_t sum = 0;
    const size_t size = cured ? 4 * MB : 48 * MB;
    char *kept = cured ? malloc(size) : NULL;
    for (long turn = (long)((cured ? 3600 : 45) * scale); turn > 0; turn--) {
        char *buffer = cured ? kept : malloc(size);
        memset(buffer, (int)turn, size);
        sum += sum_of(buffer + size / 10);
        if (!cured) free(buffer);
    }
    free(kept);
    printf("%lu\n", sum);
}

// One block at the top of the heap, and 160 MB below it that are free but not returned to the OS.
static char *leave_free_memory(size_t size, size_t bytes) {
    const size_t count = bytes / size;
    char **blocks = malloc(count * sizeof *blocks);
    for (size_t at = 0; at < count; at++) memset(blocks[at] = malloc(size), 1, size);
    char *pin = malloc(2 * KB);
    memset(pin, 1, 2 * KB);
    if (cured) { // the same block below all that is freed
        free(pin);
        pin = blocks[0];
        blocks[0] = NULL;
    }
    for (size_t at = 0; at < count; at++) free(blocks[at]);
    free(blocks);
    return pin;
}

static double cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

// Work that needs no memory, until it is five sixths of the run and more: on some machines the first touch of
// 160 MB takes half a second, and the free memory is to be seen late in the run.
static void compute_mostly(double seconds) {
    const double end = 6 * cpu_seconds() + seconds;
    volatile uint64_t state = 1;
    while (cpu_seconds() < end) state = compute(1000000, state);
}

void cause_pin(double scale) {
    char *pin = leave_free_memory(2000, 160 * MB);
    compute_mostly(scale);
    printf("%d\n", pin[1]);
    free(pin);
}

// A work area of a megabyte for each item, cleared by calloc, of which 3 KB are used.
void cause_calloc(double scale) {
    uint64_t sum = 0;
    free(malloc(30 * MB)); // so that glibc keeps blocks of this size in its heap
    for (long item = (long)(25000 * scale); item > 0; item--) {
        char *area = cured ? memset(malloc(MB), 0, 3 * KB) : calloc(1, MB);
        for (int turn = 0; turn < 12; turn++)
            for (int at = 0; at < 3 * KB; at++)
                sum += (uint64_t)(unsigned char)(area[at] += (char)(at + item));
        free(area);
    }
    printf("%lu\n", sum);
}

__attribute__((noinline)) static char *make_session(void) { return memset(malloc(200), 1, 200); }

// Requests that free everything but a session of 200 bytes each.
void cause_leak(double scale) {
    char *blocks[MAX];
    uint64_t state = 1, sum = 0;
    for (long request = (long)(1500000 * scale); request > 0; request--) {
        sum += batch(blocks, 20, 64, 216, &state);
        char *session = make_session();
        sum += sum_of(session);
        if (cured) free(session);
    }
    stay_for(0);
    printf("%lu\n", sum);
}

// A list that is built once, of which nothing is ever freed. Cured, its nodes are taken from a short one
// again.
void cause_fresh(double scale) {
    struct node {
        struct node *next;
        long values[7];
    } *list = NULL;
    uint64_t sum = 0;
    for (long count = (long)(11000000 * scale); count > 0; count--) {
        struct node *node = cured && list != NULL && count % 10000 ? list : malloc(sizeof *node);
        if (node != list) node->next = list; // else it stays what it is
        for (int at = 0; at < 7; at++) node->values[at] = count;
        list = node;
    }
    long asked = (long)(1000000 * scale); // of the newest: a program that used all of it would not grow then
    for (; list != NULL && asked > 0; list = list->next, asked--) sum += (uint64_t)list->values[3];
    if (cured) sum += compute((uint64_t)(1e9 * scale), sum);
    stay_for(0);
    printf("%lu\n", sum);
}

static long resident_bytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) exit(3);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

// The same, idle until most of it was returned to the system: the exit status is 1 if that takes more than
// `scale` minutes.
void cause_returned(double scale) {
    char *pin = leave_free_memory(2000, 160 * MB);
    for (long left = (long)(6000 * scale); resident_bytes() > 80 * MB; left--) {
        if (left <= 0) exit(1);
        usleep(10000);
    }
    free(pin);
}

// The same under an allocator that gives memory back lazily: it stays resident until somebody needs it.
void cause_lazy(double scale) {
    char *pin = leave_free_memory(64 * KB, 160 * MB);
    uint64_t state = 1, sum = 0;
    char *blocks[MAX];
    for (int turn = 0; turn < 1000; turn++) {
        sum += batch(blocks, 20, 64, 20000, &state); // traffic, at which it looks what is due
        state = compute((uint64_t)(1.2e6 * scale), state);
    }
    printf("%lu %d\n", sum, pin[1]);
    free(pin);
}
