/* Measures what a block and a page cost on this machine and writes it to standard error as JSON, in seconds:
 *
 *   fast_pair   malloc and free of one hot block
 *   usual_pair  the same of 30 blocks a request, which the thread's cache holds
 *   past_pair   the same of 100 blocks a request, which it does not hold
 *   page_fault  the first access to a page, and giving it back
 *
 * Blocks are those of studies/workloads/request-driver, each written and read. What that takes in memory that
 * is there from the beginning is subtracted. The hot block comes first, while the process has one thread and
 * malloc needs no atomic instructions: nothing is faster. The others are measured in a second thread, as that
 * workload does, so that the fast path of a program with threads does not look slow. Arms are interleaved; of
 * each the tenth percentile of its CPU times counts, as other programs and interrupts only ever add to them.
 * Takes at most half a second of CPU time. Exits with 1 where memory, a thread or the clock is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 1000,
    FEWEST = 20, /* rounds, however slow the machine is */
    MOST_BLOCKS = 100,
    BLOCKS = 2100, /* of a round and an arm */
    PAGES = 64,    /* of a round */
    SIZES = 32,
    LARGEST = 640,
    HOT = 64,
};

/* Bytes; those of studies/workloads/request-driver/requests.h. */
static const uint16_t sizes[SIZES] = {24, 32, 48, 64, 40, 24,  56, 232, 32, 72,  48, 32, 64, 40,  184, 24,
                                      96, 56, 32, 64, 48, 360, 32, 72,  24, 128, 48, 56, 96, 640, 40,  360};

/* Nanoseconds of CPU time. */
static const int64_t most_of_hot = 50000000;
static const int64_t most_of_requests = 400000000;

static _Alignas(16) unsigned char places[MOST_BLOCKS][LARGEST];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t cpu_time(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) fail("clock_gettime");
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* So that the compiler can leave out neither an allocation nor what is written to it. */
static inline void seen(void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }

static inline size_t size_of(size_t block, size_t blocks) { return blocks == 1 ? HOT : sizes[block % SIZES]; }

/* Answers one request: makes its blocks, writes and reads each, and frees them all. */
static inline uint64_t answer(void **made, size_t blocks, bool allocates) {
    uint64_t sum = 0;
    for (size_t n = 0; n < blocks; ++n) {
        const size_t size = size_of(n, blocks);
        unsigned char *const block = allocates ? malloc(size) : places[n];
        if (block == NULL) fail("malloc");
        memcpy(block, &n, sizeof n);
        memcpy(block + size - sizeof n, &n, sizeof n);
        seen(block);
        made[n] = block;
    }
    for (size_t n = 0; n < blocks; ++n) {
        uint64_t value;
        memcpy(&value, (unsigned char *)made[n] + size_of(n, blocks) - sizeof value, sizeof value);
        sum = sum * 3 + value;
    }
    for (size_t n = 0; n < blocks; ++n) {
        if (allocates)
            free(made[n]);
        else
            seen(made[n]);
    }
    return sum;
}

/* CPU time of a batch in nanoseconds. */
static inline int64_t batch(size_t blocks, bool allocates) {
    void *made[MOST_BLOCKS];
    uint64_t sum = 0;
    const int64_t begin = cpu_time();
    for (size_t request = 0; request < BLOCKS / blocks; ++request) sum += answer(made, blocks, allocates);
    const int64_t end = cpu_time();
    seen(&sum);
    return end - begin;
}

static int64_t faults(size_t page) {
    const size_t bytes = PAGES * page;
    const int64_t begin = cpu_time();
    unsigned char *const fresh =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) fail("mmap");
    madvise(fresh, bytes, MADV_NOHUGEPAGE); /* a kernel without huge pages refuses, and does what is meant */
    for (size_t n = 0; n < PAGES; ++n) *(volatile unsigned char *)(fresh + n * page) = 1;
    munmap(fresh, bytes);
    return cpu_time() - begin;
}

static int compare(const void *one, const void *other) {
    const int64_t a = *(const int64_t *)one;
    const int64_t b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static double lowest_tenth(int64_t *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    const size_t tenth = count / 10;
    return (double)values[tenth];
}

enum { FAST, FAST_FLOOR, USUAL, USUAL_FLOOR, PAST, PAST_FLOOR, FAULT, ARMS };

static int64_t times[ARMS][ROUNDS];

/* Seconds a block. */
static double pair(int arm, size_t blocks, size_t count) {
    const double batches = lowest_tenth(times[arm], count) - lowest_tenth(times[arm + 1], count);
    const size_t requests = BLOCKS / blocks;
    return batches / (double)(requests * blocks) * 1e-9;
}

/* Whether there is to be another round after so many. */
static bool goes_on(size_t count, int64_t begin, int64_t most) {
    return count < ROUNDS && (count < FEWEST || cpu_time() - begin < most);
}

static void *measure_requests(void *page) {
    const int64_t begin = cpu_time();
    size_t count = 0;
    for (; goes_on(count, begin, most_of_requests); ++count) {
        times[USUAL][count] = batch(30, true);
        times[USUAL_FLOOR][count] = batch(30, false);
        times[PAST][count] = batch(100, true);
        times[PAST_FLOOR][count] = batch(100, false);
        times[FAULT][count] = faults(*(const size_t *)page);
    }
    fprintf(stderr, "\"usual_pair\":%.4e,\"past_pair\":%.4e,\"page_fault\":%.4e}\n", pair(USUAL, 30, count),
            pair(PAST, 100, count), lowest_tenth(times[FAULT], count) / (double)PAGES * 1e-9);
    return NULL;
}

int main(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int64_t begin = cpu_time();
    size_t count = 0;
    for (; goes_on(count, begin, most_of_hot); ++count) {
        times[FAST][count] = batch(1, true);
        times[FAST_FLOOR][count] = batch(1, false);
    }
    fprintf(stderr, "{\"fast_pair\":%.4e,", pair(FAST, 1, count));
    pthread_t thread;
    errno = pthread_create(&thread, NULL, measure_requests, &page);
    if (errno != 0) fail("pthread_create");
    pthread_join(thread, NULL);
    return 0;
}
