// Limited in speed or memory by block placement and lifetimes.
#include "cause.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KB = 1024, MB = 1024 * 1024 };

// For `rss`, which samples ten times a second.
static void stay(void) { stay_for(500); }

static char *filled(size_t size) { return memset(malloc(size), 1, size); }

// One in 40 blocks survives. Cured, the survivors are adjacent, below the freed blocks.
void cause_scattered(double scale) {
    const size_t count = (size_t)(600000 * scale);
    char **blocks = malloc(count * sizeof *blocks);
    for (size_t at = 0; at < count; at++) blocks[at] = filled(200);
    for (size_t at = 0; at < count; at++) {
        const int survives = cured ? at < count / 40 : at % 40 == 0;
        if (!survives) free(blocks[at]);
    }
    stay();
    stay(); // a heap of so many blocks is walked but now and then
    printf("%d\n", blocks[0][7]);
}

// Free memory in one stretch below a block that is in use. Cured, the block lies below it.
void cause_contiguous(double scale) {
    const size_t count = (size_t)(60000 * scale);
    char **blocks = malloc(count * sizeof *blocks), *pin = cured ? filled(2000) : NULL;
    for (size_t at = 0; at < count; at++) blocks[at] = filled(2000);
    if (pin == NULL) pin = filled(2000);
    for (size_t at = 0; at < count; at++) free(blocks[at]);
    free(blocks);
    stay();
    printf("%d\n", pin[7]);
}

static struct {
    pthread_barrier_t freed;
    size_t count;
} shared;

static void *fill_an_arena(void *kept) {
    char **blocks = malloc(shared.count * sizeof *blocks);
    for (size_t at = 0; at < shared.count; at++) blocks[at] = filled(2000);
    *(char **)kept = filled(2000);
    pthread_barrier_wait(&shared.freed); // all hold their blocks at once, each in an arena of its own
    for (size_t at = 0; at < shared.count; at++) free(blocks[at]);
    free(blocks);
    pthread_barrier_wait(&shared.freed);
    return NULL;
}

// Four threads, each with free memory below a block in its own arena. Cured, they free that block, too.
void cause_arenas(double scale) {
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    char *kept[THREADS];
    shared.count = (size_t)(10000 * scale);
    pthread_barrier_init(&shared.freed, NULL, THREADS + 1);
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, fill_an_arena, &kept[at]);
    pthread_barrier_wait(&shared.freed);
    if (cured)
        for (int at = 0; at < THREADS; at++) free(kept[at]);
    pthread_barrier_wait(&shared.freed);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    if (cured) malloc_trim(0);
    stay();
    printf("%d\n", cured ? 1 : kept[0][7]);
}

// A session of 2 KB is kept for each request, over the whole time, by a program that does much else.
void cause_slow_leak(double scale) {
    uint64_t state = 1;
    for (long request = (long)(100000 * scale); request > 0; request--) {
        char *session = filled(2 * KB);
        state = compute(10000, state);
        if (cured) free(session);
    }
    printf("%lu\n", state);
}

// All of it is needed, and asked for once. Cured, it is half as much.
void cause_live(double scale) {
    const size_t size = (size_t)((cured ? 50 : 100) * scale * MB) / 40000, count = 40000;
    char **blocks = malloc(count * sizeof *blocks);
    for (size_t at = 0; at < count; at++) blocks[at] = filled(size);
    stay();
    printf("%d\n", blocks[count / 2][7]);
}

// Repeatedly walks a list of blocks. Cured, in address order.
void cause_locality(double scale) {
    enum { NODES = 400000 };
    struct node {
        struct node *next;
        uint64_t value;
    } **nodes = malloc(NODES * sizeof *nodes);
    uint64_t state = 1, sum = 0;
    for (int at = 0; at < NODES; at++) {
        nodes[at] = malloc(sizeof **nodes);
        nodes[at]->value = (uint64_t)at;
    }
    for (int at = NODES - 1; at > 0 && !cured; at--) {
        const int other = (int)(next_number(&state) % (uint64_t)(at + 1));
        struct node *node = nodes[at];
        nodes[at] = nodes[other];
        nodes[other] = node;
    }
    for (int at = 0; at < NODES; at++) nodes[at]->next = at + 1 < NODES ? nodes[at + 1] : NULL;
    for (long turn = (long)(30 * scale * (cured ? 20 : 1)); turn > 0; turn--)
        for (struct node *node = nodes[0]; node != NULL; node = node->next) sum += node->value;
    printf("%d\n", sum != 0);
}
