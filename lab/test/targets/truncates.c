// Truncates a file while it works, and uses SIGBUS itself.
//
//     truncates file FILE BYTES  allocates before and after it truncates FILE, in two threads and a forked
//     child truncates own              handles SIGBUS of its own mapping in every way that there is to set a
//     handler truncates dies             the same without a handler truncates sent             sends SIGBUS
//     to itself truncates ignores          ignores SIGBUS, and so does the program that it executes
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *unused) {
    for (int i = 0; i < 60000; i++) {
        char *block = malloc((size_t)(i % 900) + 1);
        block[0] = 1;
        free(realloc(block, (size_t)(i % 7000) + 1));
    }
    return NULL;
}

static int truncate_file(const char *path, long bytes) {
    pthread_t thread;
    work(NULL);
    if (truncate(path, bytes) != 0) return 1;
    work(NULL);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    const pid_t child = fork();
    if (child == 0) {
        work(NULL);
        _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return 7;
}

static volatile int seen;
static sigjmp_buf out;

static void handle(int number) {
    seen += number == SIGBUS;
    siglongjmp(out, 1);
}
static void handle_info(int number, siginfo_t *info, void *context) {
    seen += number == SIGBUS && info->si_code == BUS_ADRERR && context != NULL;
    siglongjmp(out, 1);
}

static volatile char *beyond(void) {
    FILE *file = tmpfile();
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
}

static void own(void) {
    volatile char *lost = beyond();
    struct sigaction old, action = {.sa_sigaction = handle_info, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    sigaction(SIGBUS, NULL, &old);
    printf("first %d %x\n", old.sa_handler == SIG_DFL, old.sa_flags);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGBUS, NULL, &old);
    printf("set %d %d\n", old.sa_sigaction == handle_info, old.sa_flags == (SA_SIGINFO | SA_RESETHAND));
    if (sigsetjmp(out, 1) == 0) lost[0] = 1;
    sigaction(SIGBUS, NULL, &old);
    printf("reset %d\n", old.sa_handler == SIG_DFL);
    printf("signal %d", signal(SIGBUS, handle) == SIG_DFL);
    if (sigsetjmp(out, 1) == 0) lost[0] = 1;
    if (sigsetjmp(out, 1) == 0) raise(SIGBUS);
    printf(" %d\n", signal(SIGBUS, SIG_DFL) == handle);
    printf("seen %d\n", seen);
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count == 4) return truncate_file(words[2], atol(words[3]));
    work(NULL);
    if (strcmp(words[1], "own") == 0) own();
    if (strcmp(words[1], "dies") == 0) beyond()[0] = 1;
    if (strcmp(words[1], "sent") == 0) raise(SIGBUS);
    if (strcmp(words[1], "ignores") == 0) {
        signal(SIGBUS, SIG_IGN);
        raise(SIGBUS);
        execl("/bin/sh", "sh", "-c", "kill -BUS $$; echo goes on", (char *)NULL);
    }
    return 0;
}
