/* deep TURNS [BLOCKS [THREADS]]: allocates at call depth 20 through 64 distinct stacks, about 30 ns an event.
 *
 * Twelve functions call each other once. Eight more branch: a leaf picks one of four functions at each of its
 * last three levels, and every level above returns and is called again after a few leaves, so that most
 * events differ from the one before in a few innermost frames and some in many. A turn is one free and one
 * malloc; of BLOCKS blocks (1000) in use the one to be replaced is picked at random. With THREADS, more than
 * one, each makes its share of the turns, with blocks of its own. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAME __attribute__((noinline, noclone))

static _Thread_local uint64_t state = 88172645463325252u;
static _Thread_local unsigned char **live;
static _Thread_local long left;
static _Thread_local uint64_t sum;
static uint64_t blocks = 1000;
static long turns;

static inline uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Work between two events, which the compiler cannot shorten. */
static inline void work(unsigned rounds) {
    uint64_t value = sum;
    for (unsigned i = 0; i < rounds; ++i) value = (value ^ i) * UINT64_C(0x9e3779b97f4a7c15);
    sum = value;
}

FRAME static void leaf(uint64_t dice) {
    unsigned char **const slot = &live[(dice >> 8) % blocks];
    const size_t size = 16 + (dice >> 40) % 240;
    work(9);
    free(*slot);
    work(9);
    *slot = malloc(size);
    if (*slot == NULL) exit(1);
    (*slot)[0] = (unsigned char)dice;
    (*slot)[size - 1] = 1;
    --left;
}

#define LEVEL(name, callee)                                                                                  \
    FRAME static void name(uint64_t dice) {                                                                  \
        volatile uint64_t own = dice;                                                                        \
        callee(dice);                                                                                        \
        sum += own;                                                                                          \
    }
/* Four functions that call the same; the dice say which of them is called. */
#define PICK(name, callee)                                                                                   \
    LEVEL(name##0, callee)                                                                                   \
    LEVEL(name##1, callee)                                                                                   \
    LEVEL(name##2, callee)                                                                                   \
    LEVEL(name##3, callee)                                                                                   \
    static void (*const name[])(uint64_t) = {name##0, name##1, name##2, name##3};
#define PICKED(table, shift) table[(dice >> (shift)) & 3](dice)

PICK(last, leaf)
static inline void last_of(uint64_t dice) { PICKED(last, 0); }
PICK(middle, last_of)
static inline void middle_of(uint64_t dice) { PICKED(middle, 2); }
PICK(first, middle_of)

/* Calls the next level twice, each time with other dice. */
#define BRANCH(name, callee)                                                                                 \
    FRAME static void name(uint64_t dice) {                                                                  \
        for (int i = 0; i < 2 && left > 0; ++i) callee(dice ^ next());                                       \
        sum += dice;                                                                                         \
    }
FRAME static void branch5(uint64_t dice) {
    for (int i = 0; i < 3 && left > 0; ++i) {
        PICKED(first, 4);
        dice = next();
    }
}
BRANCH(branch4, branch5)
BRANCH(branch3, branch4)
BRANCH(branch2, branch3)
BRANCH(branch1, branch2)

LEVEL(outer11, branch1)
LEVEL(outer10, outer11)
LEVEL(outer9, outer10)
LEVEL(outer8, outer9)
LEVEL(outer7, outer8)
LEVEL(outer6, outer7)
LEVEL(outer5, outer6)
LEVEL(outer4, outer5)
LEVEL(outer3, outer4)

static void *run(void *argument) {
    left = turns;
    live = calloc(blocks, sizeof *live);
    if (live == NULL) exit(1);
    while (left > 0) outer3(next());
    return sum == 1 ? argument : NULL;
}

int main(int argc, char **argv) {
    enum { MOST = 64 };
    pthread_t others[MOST];
    const int threads = argc > 3 ? atoi(argv[3]) : 1;
    if (argc < 2 || threads < 1 || threads > MOST) {
        fprintf(stderr, "usage: %s TURNS [BLOCKS [THREADS]]\n", argv[0]);
        return 2;
    }
    if (argc > 2) blocks = strtoull(argv[2], NULL, 10);
    turns = strtol(argv[1], NULL, 10) / threads;
    if (threads == 1) return run(NULL) != NULL;
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&others[i], NULL, run, NULL) != 0) return 1;
    for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
    return 0;
}
