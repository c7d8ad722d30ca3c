// Threads that allocate, free what others allocated, and end. The sizes tell the tests what was whose.
//
//     threads exchange THREADS TURNS   blocks of 3001 bytes pass from thread to thread, until all are freed
//     threads short THREADS            many threads, four at a time, each with blocks of 3002 bytes
//     threads late THREADS             destructors of thread-specific data allocate 3003 bytes (their number
//     goes
//                                     to standard error), exit handlers 3004
//     threads once THREADS             each thread allocates one block of 1 MB and nothing else
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64, MAX = 64 };

static _Atomic(char *) slots[SLOTS];
static long turns;

static void *exchange(void *argument) {
    unsigned long state = (unsigned long)argument * 7919 + 1;
    for (long left = turns; left > 0; left--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        char *mine = malloc(3001);
        mine[0] = 1;
        free(atomic_exchange(&slots[state >> 58], mine));
    }
    return NULL;
}

static void *briefly(void *argument) {
    char *blocks[10];
    for (int i = 0; i < 10; i++) blocks[i] = malloc(3002);
    for (int i = 0; i < 10; i++) free(blocks[i]);
    return argument;
}

static pthread_key_t keys[20];
static atomic_long made;

static void *block_of_ours(void) {
    made++;
    return malloc(3003);
}

// Asks to be called again, as long as it is allowed to: the later rounds come after any other destructor.
static void late(void *value) {
    free(value);
    for (int key = 0; key < 20; key += 19) pthread_setspecific(keys[key], block_of_ours());
}

static void *with_destructors(void *argument) {
    pthread_setspecific(keys[19], block_of_ours());
    return argument;
}

static void at_the_end(void) { free(malloc(3004)); }

static void *once(void *argument) {
    char *block = malloc(1 << 20);
    block[0] = 1;
    return argument;
}

static void run(void *(*body)(void *), long all, long together) {
    pthread_t threads[MAX];
    for (long begun = 0; begun < all;) {
        long count = 0;
        for (; count < together && begun < all; count++, begun++)
            if (pthread_create(&threads[count], NULL, body, (void *)(begun + 1))) exit(9);
        for (long i = 0; i < count; i++) pthread_join(threads[i], NULL);
    }
}

int main(int count, char **words) {
    const long all = atol(words[2]);
    if (!strcmp(words[1], "exchange")) {
        turns = atol(words[3]);
        run(exchange, all, all);
        for (int i = 0; i < SLOTS; i++) free(slots[i]);
    } else if (!strcmp(words[1], "short")) {
        run(briefly, all, 4);
    } else if (!strcmp(words[1], "once")) {
        run(once, all, 4);
    } else {
        for (int i = 0; i < 20; i++) pthread_key_create(&keys[i], late);
        atexit(at_the_end);
        run(with_destructors, all, 4);
        fprintf(stderr, "%ld", made); // stderr has no buffer to allocate
    }
    return 0;
}
