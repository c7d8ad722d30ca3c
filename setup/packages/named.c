/* 1,000 blocks of 100 bytes, of which 500 are freed and one grows to 5,000 bytes: what setup/packages/smoke
 * records, where no compiler is. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static void *leaf(size_t size) {
    void *block = malloc(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

int main(void) {
    static void *blocks[1000];
    for (int i = 0; i < 1000; ++i) blocks[i] = leaf(100);
    for (int i = 0; i < 500; ++i) free(blocks[i]);
    blocks[999] = realloc(blocks[999], 5000);
    puts("done");
    return 0;
}
