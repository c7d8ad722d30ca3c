// A loop with its allocations and without, to learn what they cost.
//
//     wall_share with|without PATTERN WORK TURNS
//
// PATTERN: cached (16 blocks of up to 128 B, a thread's cache serves them), knee (300 blocks of up to 600 B,
// too many for it), large (32 blocks of 1 to 7 KB, no cache of a thread serves them), fresh (a buffer of 40
// MB, all of it written to). Without, the same bytes are written in memory that is there already.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300, BUFFER = 40 << 20 };

static char *slots;
static volatile uint64_t sink;

static uint64_t work(int amount, uint64_t state) {
    for (int i = 0; i < amount; i++) state = state * 6364136223846793005u + 1442695040888963407u;
    return state;
}

static void *nothing(void *unused) { return unused; }

static uint64_t batch(int with, int count, size_t least, size_t most, int amount, uint64_t state) {
    char *blocks[MOST];
    char *at = slots;
    for (int i = 0; i < count; i++) {
        state = work(amount, state);
        const size_t size = least + (state >> 40) % (most - least);
        blocks[i] = with ? malloc(size) : at;
        at += (size + 15) & ~(size_t)15;
        blocks[i][0] = (char)i;
    }
    for (int i = 0; i < count; i++) {
        state += (uint64_t)blocks[i][0];
        if (with) free(blocks[i]);
    }
    return state;
}

static uint64_t buffer(int with, int amount, uint64_t state) {
    char *block = with ? malloc(BUFFER) : slots;
    memset(block, (int)state, BUFFER);
    state = work(amount, state + (uint64_t)block[BUFFER / 2]);
    if (with) free(block);
    return state;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    const int with = !strcmp(words[1], "with");
    const int amount = atoi(words[3]);
    pthread_t thread; // glibc is faster as long as there was never a second one
    if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
    slots = malloc(BUFFER);
    memset(slots, 1, BUFFER);
    uint64_t state = 1;
    for (long left = atol(words[4]); left > 0; left--) {
        switch (words[2][0]) {
        case 'c':
            state = batch(with, 16, 24, 128, amount, state);
            break;
        case 'k':
            state = batch(with, 300, 24, 600, amount, state);
            break;
        case 'l':
            state = batch(with, 32, 1100, 7100, amount, state);
            break;
        default:
            state = buffer(with, amount, state);
        }
    }
    sink = state;
    return 0;
}
