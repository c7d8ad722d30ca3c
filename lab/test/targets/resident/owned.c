// Memory with an owner that is no malloc: says "ready", and waits for the end of its input.
//   stacks   16 threads that have once used 2 MiB of their stacks
//   static   32 MiB of static data
//   forks    32 MiB, of which each of 4 children writes to 8
//   many N   N mappings of a page each
//   children N   children that sleep
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)

static char data[32 * 1048576];

static void wait_for_end(void) {
    char byte;
    while (read(0, &byte, 1) > 0) continue;
}

static void ready(void) {
    puts("ready");
    fflush(stdout);
    wait_for_end();
}

static pthread_barrier_t all;

static int deep(int left) {
    volatile char frame[4096];
    memset((void *)frame, left, sizeof frame);
    return left ? deep(left - 1) + frame[7] : 0;
}

static void *use_stack(void *unused) {
    deep(512);
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    return unused;
}

static void stacks(void) {
    pthread_t threads[16];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 4 * MB);
    pthread_barrier_init(&all, 0, 17);
    for (int at = 0; at < 16; ++at) pthread_create(threads + at, &attributes, use_stack, 0);
    pthread_barrier_wait(&all);
    usleep(20000);
    ready();
    pthread_barrier_wait(&all);
    for (int at = 0; at < 16; ++at) pthread_join(threads[at], 0);
}

static void forks(void) {
    char *block = mmap(0, 32 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int done[2];
    char byte;
    memset(block, 1, 32 * MB);
    if (pipe(done)) return;
    for (int child = 0; child < 4; ++child)
        if (!fork()) {
            memset(block, 2, 8 * MB);
            if (write(done[1], "x", 1) < 0) _exit(1);
            wait_for_end();
            _exit(0);
        }
    for (int child = 0; child < 4; ++child)
        if (read(done[0], &byte, 1) < 0) return;
    ready();
    while (wait(0) > 0) continue;
}

int main(int count, char **words) {
    const char *mode = words[1];
    int number = count > 2 ? atoi(words[2]) : 0;
    if (!strcmp(mode, "stacks")) stacks();
    if (!strcmp(mode, "forks")) forks();
    if (!strcmp(mode, "static")) {
        memset(data, 1, sizeof data);
        ready();
    }
    if (!strcmp(mode, "many")) {
        for (int at = 0; at < number; ++at) // neighbours with other rights are not merged
            *(char *)mmap(0, 4096, PROT_READ | PROT_WRITE | (at % 2 ? PROT_EXEC : 0),
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
        ready();
    }
    if (!strcmp(mode, "children")) {
        for (int at = 0; at < number; ++at)
            if (!fork()) {
                wait_for_end();
                _exit(0);
            }
        ready();
        while (wait(0) > 0) continue;
    }
    return 0;
}
