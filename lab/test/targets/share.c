// A loop with a known share of time in malloc and free: with them, and without.
//
//     share with|without WORK TURNS
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 };

static volatile uint64_t sink;

// Nothing that comes later overlaps with what came before: else the processor hides one behind the other, and
// leaving one out saves nothing.
static void barrier(void) { __builtin_ia32_lfence(); }

__attribute__((noinline)) static void work(int amount, uint64_t *state) {
    for (int i = 0; i < amount; i++) *state = *state * 6364136223846793005u + 1442695040888963407u;
}

int main(int count, char **words) {
    const int with = !strcmp(words[1], "with");
    const int amount = atoi(words[2]);
    void *blocks[BATCH];
    uint64_t state = 1;
    for (long left = atol(words[3]); left > 0; left--) {
        for (int i = 0; i < BATCH; i++) {
            work(amount, &state);
            const size_t size = 1100 + (state >> 40) % 6000; // no quick cache serves these
            barrier();
            blocks[i] = with ? malloc(size) : (void *)&state;
            barrier();
        }
        for (int i = 0; i < BATCH; i++) {
            work(amount, &state);
            barrier();
            if (with) free(blocks[i]);
            barrier();
        }
        sink = state;
    }
    return 0;
}
