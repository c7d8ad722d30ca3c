// Allocates in rounds, for as long as it is told or until SIGTERM, and says how many there were and how long
// they took. Words: microseconds to sleep after a round, turns of a loop in it, seconds.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static volatile unsigned long sink;

static void end(int number) { ended = number; }

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void *take_small(void) {
    void *block = malloc(100);
    sink += (unsigned long)block;
    return block;
}

__attribute__((noinline)) static void *take_large(void) {
    void *block = calloc(10, 500);
    sink += (unsigned long)block;
    return block;
}

__attribute__((noinline)) static void *grow(void *block) {
    block = realloc(block, 8000);
    sink += (unsigned long)block;
    return block;
}

__attribute__((noinline)) static void *start(void) {
    void *block = realloc(NULL, 77);
    sink += (unsigned long)block;
    return block;
}

static void make_round(int work) {
    void *blocks[5] = {take_small(), take_small(), take_small(), grow(take_large()), start()};
    for (int i = 0; i < 5; ++i) free(blocks[i]);
    free(NULL);
    for (int i = 0; i < work; ++i) sink += i;
}

int main(int count, char **words) {
    const int pause = atoi(words[1]), work = atoi(words[2]);
    const double begin = seconds(), limit = atof(words[3]);
    long rounds = 0;
    signal(SIGTERM, end);
    while (!ended && seconds() - begin < limit) {
        for (int i = 0; i < (pause ? 1 : 16); ++i, ++rounds) make_round(work);
        if (pause) usleep(pause);
    }
    printf("%ld %.3f\n", rounds, seconds() - begin);
    return 7;
}
