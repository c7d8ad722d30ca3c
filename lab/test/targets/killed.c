// Allocates 5000 blocks of 3001 bytes, tells so with a byte on standard output, and meets its end.
//
//     killed HOW   wait, segv, abort, exit, stop (allocates on until it is killed)
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    static char *blocks[5000];
    for (int i = 0; i < 5000; i++) {
        blocks[i] = malloc(3001);
        blocks[i][0] = 1;
    }
    if (write(1, "!", 1) != 1) return 2;
    if (!strcmp(words[1], "segv")) *(volatile int *)8 = 1;
    if (!strcmp(words[1], "abort")) abort();
    if (!strcmp(words[1], "exit")) _exit(3);
    if (!strcmp(words[1], "kill")) raise(SIGKILL);
    if (!strcmp(words[1], "on"))
        for (;;) free(malloc(3000));
    for (;;) pause();
}
