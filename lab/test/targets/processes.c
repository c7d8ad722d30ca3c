// Processes that fork, exec and end in their own ways. Each allocates blocks of a size that tells which it
// was.
//
//     processes fork       a child (2002 bytes) goes on beside its parent (2001)
//     processes threads N  the same N times, while other threads of the parent allocate (2003)
//     processes starts N   the same N times, while threads of the parent start, allocate (2003) and end
//     processes quick N    N children with one block each (2002), one after another, ended by _exit
//     processes tiny N     the same with 2 bytes, which are hardly ever a sample
//     processes brief N    N children that allocate for less than a millisecond (64), one after another
//     processes beside N   N threads with one block each (2009), all at once
//     processes vfork      vfork and exec of itself (`leaf`: 2005)
//     processes spawn      posix_spawn of the same
//     processes raw        a child made by a system call of its own, past the handlers of fork
//     processes daemon     a grandchild in a session of its own outlives all and allocates 2006 when told by
//     SIGUSR1 processes other      a child changes its root to the given folder and its user, and goes on
//     (2007) processes exec N     N times in one process: allocate (2008), then exec itself
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char self[4096];

static void use(size_t size, int times) {
    for (; times > 0; times--) {
        char *block = malloc(size);
        if (!block) _exit(8);
        block[0] = 1;
        free(block);
    }
}

static void wait_for(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "child %d: status %x\n", (int)child, status);
        _exit(9);
    }
}

static atomic_int enough;

static void *busy(void *argument) {
    while (!enough) use(2003, 1);
    return argument;
}

static void *one_block_and_wait(void *barrier) {
    use(2003, 1);
    pthread_barrier_wait(barrier);
    return NULL;
}

// Eight threads at once, again and again.
static void *starts(void *argument) {
    enum { together = 8 };
    while (!enough) {
        pthread_t threads[together];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, together);
        for (int i = 0; i < together; i++) pthread_create(&threads[i], NULL, one_block_and_wait, &barrier);
        for (int i = 0; i < together; i++) pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
    }
    return argument;
}

static void with_threads(int times, void *run(void *)) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, run, NULL);
    while (times-- > 0) {
        const pid_t child = fork();
        if (child == 0) {
            use(2002, 100);
            exit(0);
        }
        wait_for(child);
    }
    enough = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

static pthread_barrier_t all;

static void *one_block(void *argument) {
    use(2009, 1);
    pthread_barrier_wait(&all);
    return argument;
}

static void beside(int times) {
    pthread_t *threads = calloc((size_t)times, sizeof *threads);
    pthread_barrier_init(&all, NULL, (unsigned)times);
    for (int i = 0; i < times; i++)
        if (pthread_create(&threads[i], NULL, one_block, NULL)) _exit(3);
    for (int i = 0; i < times; i++) pthread_join(threads[i], NULL);
    free(threads);
}

static void ignore(int signal) { (void)signal; }

static void daemonize(void) {
    int ready[2];
    if (pipe(ready)) _exit(7);
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            sigset_t mask;
            int which;
            sigemptyset(&mask);
            sigaddset(&mask, SIGUSR1);
            signal(SIGUSR1, ignore);
            sigprocmask(SIG_BLOCK, &mask, NULL);
            fprintf(stderr, "%d", (int)getpid());
            for (int fd = 0; fd < 3; fd++) close(fd);
            close(ready[0]);
            close(ready[1]);
            sigwait(&mask, &which);
            use(2006, 10);
        }
        _exit(0);
    }
    close(ready[1]);
    char end;
    (void)!read(ready[0], &end, 1); // until the grandchild has closed it
}

int main(int count, char **words) {
    const char *mode = words[1];
    const int times = count > 2 ? atoi(words[2]) : 0;
    char *leaf[] = {"leaf", "leaf", NULL};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 6;
    if (!strcmp(mode, "fork")) {
        char *shared = malloc(2001);
        const pid_t child = fork();
        if (child == 0) {
            use(2002, 100);
            free(shared);
            exit(0);
        }
        use(2001, 100);
        wait_for(child);
        free(shared);
    } else if (!strcmp(mode, "threads")) {
        with_threads(times, busy);
    } else if (!strcmp(mode, "starts")) {
        with_threads(times, starts);
    } else if (!strcmp(mode, "quick") || !strcmp(mode, "tiny") || !strcmp(mode, "brief")) {
        for (int i = 0; i < times; i++) {
            const pid_t child = fork();
            if (child == 0) {
                use(*mode == 'b' ? 64 : *mode == 'q' ? 2002 : 2, *mode == 'b' ? 15000 : 1);
                _exit(0);
            }
            wait_for(child);
        }
    } else if (!strcmp(mode, "beside")) {
        beside(times);
    } else if (!strcmp(mode, "vfork")) {
        use(2004, 3);
        const pid_t child = vfork();
        if (child == 0) {
            execv(self, leaf);
            _exit(5);
        }
        use(2004, 3);
        wait_for(child);
    } else if (!strcmp(mode, "spawn")) {
        pid_t child = -1;
        use(2004, 3);
        posix_spawn(&child, self, NULL, NULL, leaf, environ);
        use(2004, 3);
        wait_for(child);
    } else if (!strcmp(mode, "raw")) {
        use(2001, 50);
        const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            for (int i = 0; i < 3000; i++) use(2002, 1);
            _exit(0);
        }
        for (int i = 0; i < 3000; i++) use(2001, 1);
        wait_for(child);
    } else if (!strcmp(mode, "leaf")) {
        use(2005, 7);
    } else if (!strcmp(mode, "daemon")) {
        daemonize();
    } else if (!strcmp(mode, "other")) {
        const pid_t child = fork();
        if (child == 0) {
            if (chroot(words[2]) || chdir("/") || setgid(65534) || setuid(65534)) _exit(4);
            for (int i = 0; i < 20; i++) {
                const pid_t grandchild = fork();
                if (grandchild == 0) {
                    use(2007, 10);
                    _exit(0);
                }
                wait_for(grandchild);
            }
            use(2007, 100000);
            exit(0);
        }
        wait_for(child);
        use(2001, 10);
    } else if (!strcmp(mode, "exec")) {
        use(2008, 10);
        char left[20];
        snprintf(left, sizeof left, "%d", times - 1);
        char *again[] = {"exec", "exec", left, NULL};
        if (times > 1) execv(self, again);
    } else {
        return 2;
    }
    return 0;
}
