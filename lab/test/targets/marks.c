// A program that marks its requests, and knows how many there were and what each allocates.
//
//     marks plain N     N requests; the one numbered i makes i % 4 + 1 blocks of 100 bytes, and one of 1000
//     bytes
//                       is made between two requests
//     marks nested N    the same, with requests inside each
//     marks mixed N     N requests of five blocks and 101,050 bytes, by every kind of call, and of calls that
//     fail marks sleep N     N requests of 2 ms marks phases N    N requests in none, then N in the phase
//     "warm", N in "cold", N in "warm" again marks alone       an end without a begin, then a request marks
//     never       a request that does not end marks across      a request begun in one thread and ended in
//     another, which then has one of its own marks fork        a request in which a child is forked; the
//     child ends it, and has one of its own marks raw         the same, forked past the handlers of fork
//     marks exit        a request, and one within which the program exits
//     marks killed N    N requests, and one within which the program is killed
//     marks threads N   N threads, eight at a time, of one request each
//     marks pools N     N pools: created, three objects out, one back, cleared, destroyed
//     marks chroot DIR  a request, then one beyond DIR, where no file can be reached; fills a block to get
//     there
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "reap/mark.h"

static void allocate(int number) {
    for (int block = 0; block <= number % 4; ++block) free(malloc(100));
}

static void requests(int count) {
    for (int number = 0; number < count; ++number) {
        reap_mark_request_begin();
        allocate(number);
        reap_mark_request_end();
        free(malloc(1000));
    }
}

static void nested(int count) {
    for (int number = 0; number < count; ++number) {
        reap_mark_request_begin();
        reap_mark_request_begin();
        allocate(number);
        reap_mark_request_end();
        reap_mark_request_begin();
        reap_mark_request_end();
        reap_mark_request_end();
    }
}

static void mixed(int count) {
    for (int number = 0; number < count; ++number) {
        reap_mark_request_begin();
        void *zeroed = calloc(2, 50);
        void *grown = realloc(malloc(10), 300);
        void *aligned = aligned_alloc(64, 640);
        void *large = malloc(100000);
        void *none = malloc((size_t)1 << 46);
        void *never = malloc(SIZE_MAX / 2);
        if (none != NULL || never != NULL || realloc(zeroed, (size_t)1 << 46) != NULL) abort();
        free(realloc(large, 0));
        free(aligned);
        free(grown);
        free(zeroed);
        reap_mark_request_end();
    }
}

static void slow(int count) {
    const struct timespec two_ms = {0, 2000000};
    for (int number = 0; number < count; ++number) {
        reap_mark_request_begin();
        nanosleep(&two_ms, NULL);
        reap_mark_request_end();
    }
}

static void phases(int count) {
    requests(count);
    reap_mark_phase("warm");
    requests(count);
    reap_mark_phase("cold");
    requests(count);
    reap_mark_phase("warm");
    requests(count);
}

static void *one_request(void *number) {
    requests(1);
    return number;
}

static void *end_and_one_request(void *nothing) {
    reap_mark_request_end();
    requests(1);
    return nothing;
}

static void across(void) {
    pthread_t other;
    reap_mark_request_begin();
    pthread_create(&other, NULL, end_and_one_request, NULL);
    pthread_join(other, NULL);
}

static void forked(int raw) {
    reap_mark_request_begin();
    const pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
        end_and_one_request(NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    reap_mark_request_end();
}

static void threads(int count) {
    enum { together = 8 };
    pthread_t thread[together];
    for (int at = 0; at < count; at += together) {
        const int now = count - at < together ? count - at : together;
        for (int i = 0; i < now; ++i) pthread_create(&thread[i], NULL, one_request, NULL);
        for (int i = 0; i < now; ++i) pthread_join(thread[i], NULL);
    }
}

static void pools(int count) {
    char memory[300];
    for (int number = 0; number < count; ++number) {
        reap_mark_pool_create(memory, "of the test");
        for (int object = 0; object < 3; ++object) reap_mark_pool_alloc(memory, memory + 100 * object, 100);
        reap_mark_pool_free(memory, memory);
        reap_mark_pool_clear(memory);
        reap_mark_pool_destroy(memory);
    }
}

int main(int argc, char **argv) {
    const char *mode = argv[1];
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(mode, "plain")) requests(count);
    if (!strcmp(mode, "nested")) nested(count);
    if (!strcmp(mode, "mixed")) mixed(count);
    if (!strcmp(mode, "sleep")) slow(count);
    if (!strcmp(mode, "phases")) phases(count);
    if (!strcmp(mode, "never")) reap_mark_request_begin();
    if (!strcmp(mode, "alone")) end_and_one_request(NULL);
    if (!strcmp(mode, "across")) across();
    if (!strcmp(mode, "fork")) forked(0);
    if (!strcmp(mode, "raw")) forked(1);
    if (!strcmp(mode, "threads")) threads(count);
    if (!strcmp(mode, "pools")) pools(count);
    if (!strcmp(mode, "exit") || !strcmp(mode, "killed")) {
        requests(count ? count : 1);
        reap_mark_request_begin();
        if (!strcmp(mode, "killed")) raise(SIGKILL);
        exit(3);
    }
    if (!strcmp(mode, "chroot")) {
        requests(1);
        if (chroot(argv[2]) != 0) return 77;
        for (int number = 0; number < 4100; ++number) requests(1);
    }
    return 0;
}
