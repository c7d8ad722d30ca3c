/* A child that is made past the C library's fork has memory of its own, as ever.
 *
 *     raw-fork _Fork | fork-call | clone-call | clone | fork | thread-call        exits with 0 if so
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECTS = 300, LARGEST = 100000 };

static char *objects[OBJECTS];
static int to_child[2], to_parent[2];

static size_t size_of(int i) { return i % 50 == 0 ? LARGEST : 10 + i; }

static void fill(char letter) {
    for (int i = 0; i < OBJECTS; ++i) memset(objects[i], letter, size_of(i));
}

static int all_are(char letter) {
    for (int i = 0; i < OBJECTS; ++i) {
        for (size_t j = 0; j < size_of(i); ++j) {
            if (objects[i][j] != letter) return 0;
        }
    }
    return 1;
}

static int child(void *nothing) {
    char byte;
    if (read(to_child[0], &byte, 1) != 1) return 2; /* the parent has written by now */
    if (!all_are('b')) return 3;
    fill('c');
    for (int i = 0; i < 100; ++i) free(malloc(100 + i));
    if (write(to_parent[1], "x", 1) != 1 || read(to_child[0], &byte, 1) != 1) return 4;
    return all_are('c') ? 0 : 5;
}

/* A thread that begins behind the instruction, and returns into this from the stack that it was given. */
static volatile int begun;
#ifdef __x86_64__
static void thread(void) {
    begun = 1;
    for (;;) __asm__ volatile("syscall" ::"a"(SYS_exit), "D"(0));
}

static int begins(void) {
    void **stack = (void **)malloc(1 << 16) + (1 << 16) / sizeof(void *) - 4;
    stack[0] = (void *)thread;
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    if (syscall(SYS_clone, flags, stack, 0, 0, 0) < 0) return 18;
    for (int i = 0; i < 10000 && !begun; ++i) usleep(1000);
    return begun ? 0 : 19;
}
#endif

int main(int argc, char **argv) {
    const char *how = argc == 2 ? argv[1] : "";
#ifdef __x86_64__
    if (!strcmp(how, "thread-call")) return begins();
#endif
    for (int i = 0; i < OBJECTS; ++i) objects[i] = malloc(size_of(i));
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) return 10;
    fill('b');
    pid_t pid = -1;
    if (!strcmp(how, "clone")) {
        char *stack = malloc(1 << 18);
        pid = clone(child, stack + (1 << 18), SIGCHLD, NULL);
    } else {
        if (!strcmp(how, "_Fork")) pid = _Fork();
        if (!strcmp(how, "fork")) pid = fork();
        if (!strcmp(how, "fork-call")) pid = syscall(SYS_fork);
        if (!strcmp(how, "clone-call")) pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) _exit(child(NULL));
    }
    if (pid < 0) return 11;
    char byte;
    fill('p');
    if (write(to_child[1], "x", 1) != 1 || read(to_parent[0], &byte, 1) != 1) return 12;
    if (!all_are('p')) return 13;
    fill('q');
    if (write(to_child[1], "x", 1) != 1) return 14;
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) return 15;
    if (!WIFEXITED(status)) return 16;
    return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : all_are('q') ? 0 : 17;
}
