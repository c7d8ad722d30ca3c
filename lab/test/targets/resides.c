// Memory that is somewhere, and stays there until standard input ends.
//
//     resides pin [trim]    200 MB of blocks of 2 KB, freed below one that stays; with `trim` trimmed
//     resides live          64 MB in use
//     resides scattered     64 MB of blocks of 2 KB, three of four freed
//     resides threads       four threads that took 16 MB each in blocks of 2 KB, and gave them back
//     resides top           64 MB at the top of the heap, free
//     resides leaves        main ends by pthread_exit, a thread goes on, and the process ends with it
//     resides behind        64 MB taken by a thread when main has ended by pthread_exit
//     resides becomes CMD   half a second later another program
//     resides cancelled     main is cancelled, and the process ends with it
//     resides exits         main ends by the system call
//     resides forks         200 forks while another thread allocates; each child allocates, too
//     resides files         says how many descriptors are open, and which is next
//     resides signals       a signal to the process comes to the thread that waits for it, and to no other
//     resides user          becomes nobody in all its threads
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { size = 2032, most = 100000 };
static char *blocks[most];

static void take(int count) {
    for (int i = 0; i < count; i++) memset(blocks[i] = malloc(size), 1, size);
}

static void wait_for_input(void) {
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
}

static atomic_int ready;

static void *in_thread(void *unused) {
    char **own = calloc(8192, sizeof *own);
    for (int i = 0; i < 8192; i++) memset(own[i] = malloc(size), 1, size);
    char *last = malloc(size);
    for (int i = 0; i < 8192; i++) free(own[i]);
    ready++;
    wait_for_input();
    free(last);
    return unused;
}

static void *goes_on(void *unused) {
    usleep(100000);
    puts("went on");
    return unused;
}

static void *stays(void *unused) {
    usleep(200000);
    take(32768);
    wait_for_input();
    return unused;
}

static pthread_t first;

static void *cancels(void *unused) {
    pthread_cancel(first);
    return unused;
}

static atomic_int enough;

static void *busy(void *unused) {
    while (!enough) free(malloc(1000 + (size_t)rand() % 300000));
    return unused;
}

static void forks(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, busy, NULL);
    for (int i = 0; i < 200; i++) {
        const pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 20; j++) free(malloc(3000 + (size_t)j * 20000));
            exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) _exit(9);
    }
    enough = 1;
    pthread_join(thread, NULL);
}

static void signals(void) {
    sigset_t set;
    int which;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGTERM);
    sigwait(&set, &which);
    printf("%d\n", which);
}

int main(int count, char **words) {
    const char *mode = words[1];
    if (!strcmp(mode, "pin")) {
        take(most);
        char *pin = memset(malloc(size), 1, size);
        for (int i = 0; i < most; i++) free(blocks[i]);
        if (count > 2) malloc_trim(0);
        wait_for_input();
        return pin[0] != 1; // still there: what is freed at the end would be seen, too
    } else if (!strcmp(mode, "live")) {
        take(32768);
        wait_for_input();
    } else if (!strcmp(mode, "scattered")) {
        take(32768);
        for (int i = 0; i < 32768; i++) {
            if (i % 4) free(blocks[i]);
        }
        wait_for_input();
    } else if (!strcmp(mode, "threads")) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, in_thread, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    } else if (!strcmp(mode, "top")) {
        mallopt(M_TRIM_THRESHOLD, 256 << 20);
        take(32768);
        for (int i = 0; i < 32768; i++) free(blocks[i]);
        wait_for_input();
    } else if (!strcmp(mode, "leaves")) {
        pthread_t thread;
        pthread_create(&thread, NULL, goes_on, NULL);
        pthread_exit(NULL);
    } else if (!strcmp(mode, "behind")) {
        pthread_t thread;
        pthread_create(&thread, NULL, stays, NULL);
        pthread_exit(NULL);
    } else if (!strcmp(mode, "becomes")) {
        usleep(500000);
        execv(words[2], words + 2);
        return 6;
    } else if (!strcmp(mode, "cancelled")) {
        pthread_t thread;
        first = pthread_self();
        pthread_create(&thread, NULL, cancels, NULL);
        for (;;) pause();
    } else if (!strcmp(mode, "exits")) {
        syscall(SYS_exit, 0);
    } else if (!strcmp(mode, "forks")) {
        forks();
    } else if (!strcmp(mode, "files")) {
        for (int i = 0; i < 30; i++) {
            const int next = open("/dev/null", O_RDONLY);
            if (next != 3) return 3;
            close(next);
            usleep(5000);
        }
    } else if (!strcmp(mode, "signals")) {
        for (int i = 0; i < 20; i++) signals();
    } else if (!strcmp(mode, "user")) {
        usleep(50000);
        if (setgid(65534) || setuid(65534)) return 4;
        printf("%d\n", (int)getuid());
    } else {
        return 2;
    }
    return 0;
}
