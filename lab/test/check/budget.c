/* A program whose budget is known. Words:
 *
 *     budget fixed            10 blocks of 100 bytes kept, 50 of 64 bytes freed at once, one of 5000 freed
 *     budget prints           the same, and prints
 *     budget status N         the same, and exits with N
 *     budget coin PERCENT     the same, and with this chance a block of 1000000 bytes, freed
 *     budget reads            as many blocks of 100 bytes as there are characters to read, kept
 *     budget marks N          N marked requests; number i allocates i % 4 + 1 blocks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "reap/mark.h"

#define APART __attribute__((noinline, noclone))

static void *volatile kept;

APART static void leaks(void) { kept = malloc(100); }

APART static void frees(size_t size) {
    void *volatile block = malloc(size);
    free(block);
}

static unsigned chance(void) {
    unsigned number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
    return number % 100;
}

int main(int count, char **words) {
    const char *mode = words[1];
    const int number = count > 2 ? atoi(words[2]) : 0;
    for (int i = 0; i < 10; i++) leaks();
    for (int i = 0; i < 50; i++) frees(64);
    frees(5000);
    if (!strcmp(mode, "prints")) puts("printed");
    if (!strcmp(mode, "coin") && chance() < (unsigned)number) frees(1000000);
    if (!strcmp(mode, "reads"))
        while (getchar() != EOF) leaks();
    for (int i = 0; !strcmp(mode, "marks") && i < number; i++) {
        reap_mark_request_begin();
        for (int block = 0; block <= i % 4; block++) frees(100);
        reap_mark_request_end();
    }
    return !strcmp(mode, "status") ? number : 0;
}
