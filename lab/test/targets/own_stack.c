/* Allocates on a stack of its own, whose first frame has no caller, at the end of the memory.
 * x86-64. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

static void *back, *forth;

__attribute__((naked, noinline)) static void change(void **from, void *to) {
    __asm__("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
            "mov %rsp, (%rdi); mov %rsi, %rsp\n"
            "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}

static void body(void) {
    for (;;) {
        for (int i = 0; i < 300; ++i) {
            char *volatile block = malloc(3000);
            block[0] = 1;
            free(block);
        }
        change(&forth, back);
    }
}

int main(void) {
    enum { SIZE = 65536 };
    char *stack = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || munmap(stack + SIZE, SIZE) != 0) return 1;
    void **top = (void **)(stack + SIZE);
    *--top = (char *)body + 20;
    *--top = (void *)body;
    forth = top - 6; /* the registers */
    for (int i = 0; i < 5; ++i) change(&back, forth);
    return 0;
}
