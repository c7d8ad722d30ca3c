/* fresh TURNS [BLOCKS]: as deep.c, but every second malloc has a stack that no other has had.
 *
 * Each turn is a call of twenty functions. Ten of them are one of four each: in every second turn the digits
 * of a number, to the base of four, say which, and the number is one more than in the turn before. So a new
 * stack has most of its outer frames in common with the one before, as those of a tree that is walked. In the
 * turns between the stack is one of 64. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAME __attribute__((noinline, noclone))

static uint64_t state = 88172645463325252u;
static unsigned char **live;
static uint64_t blocks = 1000;
static uint64_t sum;

static inline uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

FRAME static void leaf(uint64_t path) {
    const uint64_t dice = next();
    unsigned char **const slot = &live[(dice >> 8) % blocks];
    const size_t size = 16 + (dice >> 40) % 240;
    free(*slot);
    *slot = malloc(size);
    if (*slot == NULL) exit(1);
    (*slot)[0] = (unsigned char)path;
    (*slot)[size - 1] = 1;
}

#define LEVEL(name, callee)                                                                                  \
    FRAME static void name(uint64_t path) {                                                                  \
        volatile uint64_t own = path;                                                                        \
        callee(path);                                                                                        \
        sum += own;                                                                                          \
    }
/* Four functions that call the same, and the call of that which the digit says. */
#define PICK(name, callee, digit)                                                                            \
    LEVEL(name##0, callee)                                                                                   \
    LEVEL(name##1, callee)                                                                                   \
    LEVEL(name##2, callee)                                                                                   \
    LEVEL(name##3, callee)                                                                                   \
    static inline void name(uint64_t path) {                                                                 \
        static void (*const table[])(uint64_t) = {name##0, name##1, name##2, name##3};                       \
        table[path >> 2 * (digit) & 3](path);                                                                \
    }

PICK(digit0, leaf, 0)
PICK(digit1, digit0, 1)
PICK(digit2, digit1, 2)
PICK(digit3, digit2, 3)
PICK(digit4, digit3, 4)
PICK(digit5, digit4, 5)
PICK(digit6, digit5, 6)
PICK(digit7, digit6, 7)
PICK(digit8, digit7, 8)
PICK(digit9, digit8, 9)
LEVEL(outer9, digit9)
LEVEL(outer8, outer9)
LEVEL(outer7, outer8)
LEVEL(outer6, outer7)
LEVEL(outer5, outer6)
LEVEL(outer4, outer5)
LEVEL(outer3, outer4)
LEVEL(outer2, outer3)
LEVEL(outer1, outer2)

int main(int argc, char **argv) {
    const uint64_t most = UINT64_C(2) << 20; /* half of them have a number of ten digits */
    const uint64_t turns = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    if (turns == 0 || turns > most) {
        fprintf(stderr, "usage: %s TURNS [BLOCKS], at most %llu turns\n", argv[0], (unsigned long long)most);
        return 2;
    }
    if (argc > 2) blocks = strtoull(argv[2], NULL, 10);
    live = calloc(blocks, sizeof *live);
    if (live == NULL) return 1;
    for (uint64_t turn = 0; turn < turns; ++turn) outer1(turn % 2 == 0 ? turn / 2 : next() % 64);
    return sum == 1;
}
