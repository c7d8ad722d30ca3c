/* Workers that serve requests as fast as they can, each with so many allocations.
 *
 *     retry-storm SECONDS WORKERS ALLOCATIONS
 *
 * A request takes blocks of 16 to 512 bytes, writes to each, and gives them back. At the end one line on
 * standard error: {"requests": N, "seconds": S, "p50_ns": ..., "p99_ns": ..., "p999_ns": ...}. The loop is
 * closed: a worker begins the next request when the last is done, so that what a caller waits before its
 * request is begun is not in these times.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Times in buckets of an eighth of an octave: 6 % wide on either side. */
enum { most_allocations = 1000, most_workers = 256, buckets = 64 * 8 };

struct worker {
    pthread_t thread;
    uint64_t count[buckets];
};

static struct worker worker[most_workers];
static int allocations;
static atomic_int over;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int bucket_of(uint64_t nanoseconds) {
    if (nanoseconds < 8) return (int)nanoseconds;
    const int octave = 63 - __builtin_clzll(nanoseconds);
    return octave * 8 + (int)(nanoseconds >> (octave - 3) & 7);
}

static double middle_of(int bucket) {
    if (bucket < 24) return bucket < 8 ? bucket : 8;
    return (double)((uint64_t)1 << (bucket / 8)) * (1 + (bucket % 8 + 0.5) / 8);
}

static void *work(void *argument) {
    struct worker *own = argument;
    char *block[most_allocations];
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        const uint64_t begin = now();
        for (int i = 0; i < allocations; i++) {
            block[i] = malloc(16 + (size_t)(i * 37 % 497));
            *(volatile char *)block[i] = 1;
        }
        for (int i = 0; i < allocations; i++) free(block[i]);
        own->count[bucket_of(now() - begin)]++;
    }
    return NULL;
}

static double percentile(double share, uint64_t all) {
    uint64_t seen = 0;
    for (int bucket = 0; bucket < buckets; bucket++) {
        for (int i = 0; i < most_workers; i++) seen += worker[i].count[bucket];
        if ((double)seen >= share * (double)all) return middle_of(bucket);
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    const double seconds = atof(words[1]);
    const int workers = atoi(words[2]);
    allocations = atoi(words[3]);
    if (workers < 1 || workers > most_workers || allocations < 0 || allocations > most_allocations) return 2;
    const uint64_t begin = now();
    for (int i = 0; i < workers; i++) {
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0) return 3;
    }
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
    over = 1;
    for (int i = 0; i < workers; i++) pthread_join(worker[i].thread, NULL);
    const double passed = (double)(now() - begin) / 1e9;
    uint64_t all = 0;
    for (int i = 0; i < workers; i++) {
        for (int bucket = 0; bucket < buckets; bucket++) all += worker[i].count[bucket];
    }
    fprintf(
        stderr,
        "{\"requests\": %llu, \"seconds\": %.6f, \"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f}\n",
        (unsigned long long)all, passed, percentile(0.5, all), percentile(0.99, all), percentile(0.999, all));
    return 0;
}
