// A program of which a part is recorded. It keeps 1,000 blocks of 24 bytes before it begins, and frees them
// in the part. In the part it makes N blocks of 100 bytes, of which it keeps every tenth, behind it N of 40.
//
//     parts phases N     the part is the phase "steady"; "done" follows
//     parts asks N       before and behind the part it writes a line and waits for one
//     parts children N   the same phases in the children of fork: one enters "steady", one "done". Between, N
//                        blocks of 200 bytes in the parent; behind "done" a child and a program that it executes
//     parts threads N    the phases of N turns, beside three threads that allocate all the time
//     parts behind N     N blocks of 40 bytes alone
//     parts steps MS     for so many ms, 500 blocks of 1,000 bytes, then 500 of 1,001, ...; at the end one of 5,000
//     parts heirs MS     the same, each size in a child of its own
//
// At its end it says how many of SIGUSR1 and SIGUSR2 it got.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "reap/mark.h"

enum { OLD = 1000 };

static void *old[OLD];
static atomic_int signals;
static atomic_int over;
static atomic_long turns;

static void got(int number) {
    (void)number;
    ++signals;
}

static void make(int count, size_t size, int kept) {
    for (int number = 0; number < count; ++number) {
        void *block = malloc(size);
        if (kept == 0 || number % kept != 0) free(block);
    }
}

static void before(void) {
    for (int number = 0; number < OLD; ++number) old[number] = malloc(24);
}

static void part(int count) {
    for (int number = 0; number < OLD; ++number) free(old[number]);
    make(count, 100, 10);
}

static void ask(void) {
    char line[16];
    if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, line, sizeof line) <= 0) _exit(3);
}

static void wait_for_child(void (*run)(int), int count) {
    const pid_t child = fork();
    if (child == 0) {
        run(count);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void steady(int count) {
    reap_mark_phase("steady");
    part(count);
}

static void done(int count) {
    reap_mark_phase("done");
    make(count, 40, 0);
}

static void behind(int count) {
    make(count, 40, 0);
    char text[16];
    snprintf(text, sizeof text, "%d", count);
    execl("/proc/self/exe", "parts", "behind", text, (char *)NULL);
}

static void children(int count) {
    wait_for_child(steady, count);
    make(count, 200, 0);
    wait_for_child(done, count);
    make(count, 40, 0);
    wait_for_child(behind, count);
}

static void *busy(void *nothing) {
    void *kept[64] = {0};
    for (long turn = 0; !over; ++turn) {
        free(kept[turn % 64]);
        kept[turn % 64] = malloc(16 + (size_t)turn % 200);
        ++turns;
    }
    for (int i = 0; i < 64; ++i) free(kept[i]);
    return nothing;
}

static void wait_for_turns(long count) {
    for (const long until = turns + count; turns < until;) usleep(100);
}

static void threads(int count) {
    pthread_t all[3];
    for (int i = 0; i < 3; ++i) pthread_create(&all[i], NULL, busy, NULL);
    wait_for_turns(count);
    reap_mark_phase("steady");
    wait_for_turns(count);
    reap_mark_phase("done");
    wait_for_turns(count);
    over = 1;
    for (int i = 0; i < 3; ++i) pthread_join(all[i], NULL);
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void step(int number) {
    make(500, 1000 + (size_t)number, 0);
    usleep(500);
}

static void in_child(int number) { wait_for_child(step, number); }

static void steps(void (*make_step)(int), int ms) {
    const long until = now_ms() + ms;
    for (int number = 0; number < 3000 && now_ms() < until; ++number) make_step(number);
    make(1, 5000, 1);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const int count = atoi(argv[2]);
    signal(SIGUSR1, got);
    signal(SIGUSR2, got);
    if (strcmp(argv[1], "behind") == 0) {
        make(count, 40, 0);
        return 0;
    }
    if (strcmp(argv[1], "threads") == 0) {
        threads(count);
        return 0;
    }
    if (strcmp(argv[1], "steps") == 0 || strcmp(argv[1], "heirs") == 0) {
        steps(argv[1][0] == 's' ? step : in_child, count);
        return 0;
    }
    before();
    if (strcmp(argv[1], "children") == 0) {
        children(count);
    } else if (strcmp(argv[1], "asks") == 0) {
        ask();
        part(count);
        ask();
        make(count, 40, 0);
    } else {
        steady(count);
        done(count);
    }
    char text[32];
    const int length = snprintf(text, sizeof text, "%d signals\n", signals);
    return write(STDOUT_FILENO, text, (size_t)length) == length ? 0 : 3;
}
