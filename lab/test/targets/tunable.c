// Programs whose allocator has one setting that is wrong for them, by construction.
//
//     tunable batches N ROUNDS   N blocks, then their frees: more than a thread cache takes
//     tunable top N ROUNDS       N blocks at the end of the heap, freed: it is trimmed each time
//     tunable served N ROUNDS    the same, each round a request that is marked
//     tunable mapped N ROUNDS    N blocks so large that each is mapped for itself
//     tunable arenas N KB        N threads in turn; what each frees stays in an arena of its own
//     tunable small N ROUNDS     N small blocks, freed, then a large one: all are coalesced at once
//     tunable grows N KB         N blocks, each larger by so much than the one that is then freed
//     tunable nothing N          no allocation to speak of
#include <pthread.h>
#include <reap/mark.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *block_of(size_t size) {
    char *block = malloc(size);
    if (!block) abort();
    *(volatile char *)block = 1;
    return block;
}

static void **room_for(size_t count) { return block_of(count * sizeof(void *)); }

static void batches(size_t count, size_t rounds) {
    void **blocks = room_for(count);
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) blocks[i] = block_of(256 + i % 4 * 64);
        for (size_t i = 0; i < count; i++) free(blocks[i]);
    }
    free(blocks);
}

static void top(size_t count, size_t rounds, bool marked) {
    void **blocks = room_for(count);
    for (size_t round = 0; round < rounds; round++) {
        if (marked) reap_mark_request_begin();
        for (size_t i = 0; i < count; i++) blocks[i] = block_of(8000);
        for (size_t i = count; i-- > 0;) free(blocks[i]);
        if (marked) reap_mark_request_end();
    }
    free(blocks);
}

static void mapped(size_t count, size_t rounds) {
    uint32_t random = 1;
    void **blocks = room_for(count);
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525 + 1013904223;
            blocks[i] = block_of((33u << 20) + (random >> 12));
            for (size_t at = 0; at < (33u << 20); at += 65536) ((volatile char *)blocks[i])[at] = 1;
        }
        for (size_t i = 0; i < count; i++) free(blocks[i]);
    }
    free(blocks);
}

static struct {
    pthread_mutex_t turn;
    pthread_barrier_t done;
    size_t bytes;
} shared = {.turn = PTHREAD_MUTEX_INITIALIZER};

static void *fills(void *ignored) {
    const size_t count = shared.bytes / 512;
    pthread_mutex_lock(&shared.turn);
    void **blocks = room_for(count);
    for (size_t i = 0; i < count; i++) blocks[i] = memset(block_of(500), 1, 500);
    void *pin = block_of(500);
    for (size_t i = 0; i < count; i++) free(blocks[i]);
    free(blocks);
    pthread_mutex_unlock(&shared.turn);
    pthread_barrier_wait(&shared.done); // an arena whose thread has ended would serve the next
    free(pin);
    return ignored;
}

static void arenas(size_t count, size_t kilobytes) {
    pthread_t *threads = block_of(count * sizeof *threads);
    shared.bytes = kilobytes << 10;
    pthread_barrier_init(&shared.done, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, fills, NULL)) abort();
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    free(threads);
}

static void small(size_t count, size_t rounds) {
    void **blocks = room_for(count), *pin = NULL;
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) blocks[i] = block_of(24 + i % 5 * 16);
        if (!pin) pin = block_of(5000); // the top stays where it is
        for (size_t i = 0; i < count; i++) free(blocks[i]);
        free(block_of(100000));
    }
    free(pin);
    free(blocks);
}

static void grows(size_t count, size_t kilobytes) {
    void **pins = room_for(count), *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t size = (i + 1) * (kilobytes << 10);
        void *next = memset(block_of(size), 1, size);
        pins[i] = block_of(16000); // what was freed is not merged with its neighbours
        free(last);
        last = next;
    }
    for (size_t i = 0; i < count; i++) free(pins[i]);
    free(last);
    free(pins);
}

static void nothing(size_t rounds) {
    volatile uint64_t sum = 0;
    for (size_t i = 0; i < rounds; i++) sum = sum * 31 + i;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const size_t first = strtoull(words[2], NULL, 10), second = count > 3 ? strtoull(words[3], NULL, 10) : 1;
    const char *what = words[1];
    if (!strcmp(what, "batches"))
        batches(first, second);
    else if (!strcmp(what, "top"))
        top(first, second, false);
    else if (!strcmp(what, "served"))
        top(first, second, true);
    else if (!strcmp(what, "mapped"))
        mapped(first, second);
    else if (!strcmp(what, "arenas"))
        arenas(first, second);
    else if (!strcmp(what, "small"))
        small(first, second);
    else if (!strcmp(what, "grows"))
        grows(first, second);
    else if (!strcmp(what, "nothing"))
        nothing(first);
    else
        return 2;
    printf("%s %zu %zu\n", what, first, second);
    return 0;
}
