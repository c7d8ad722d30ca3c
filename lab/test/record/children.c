// Three processes that allocate for so many seconds: one, its copy, and a child that executes this program.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void *take_first(void) {
    void *block = malloc(100);
    sink += (unsigned long)block;
    return block;
}

__attribute__((noinline)) static void *take_copied(void) {
    void *block = malloc(200);
    sink += (unsigned long)block;
    return block;
}

__attribute__((noinline)) static void *take_executed(void) {
    void *block = malloc(300);
    sink += (unsigned long)block;
    return block;
}

static void spend(double limit, void *(*take)(void)) {
    const double begin = seconds();
    while (seconds() - begin < limit) {
        free(take());
        usleep(500);
    }
}

int main(int count, char **words) {
    const double limit = atof(words[1]);
    if (count > 2) {
        spend(limit, take_executed);
        return 0;
    }
    if (fork() == 0) {
        spend(limit, take_copied);
        _exit(0);
    }
    if (fork() == 0) {
        char *again[] = {words[0], words[1], "again", NULL};
        execv("/proc/self/exe", again);
        _exit(127);
    }
    spend(limit, take_first);
    while (wait(NULL) > 0) {
    }
    return 0;
}
