/* What a program may do with malloc's memory, also before and after a fork.
 *
 *     own-memory MODE        exits with 0 if everything works
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECTS = 20, SIZE = 1 << 18, PAGE = 4096, MUTEXES = 50, STREAMS = 200 };

static char *objects[OBJECTS];
static pthread_mutex_t *mutexes[MUTEXES];
static int watched;

static void churn(void) {
    static void *kept[100];
    for (int i = 0; i < 200; ++i) {
        free(kept[i % 100]);
        kept[i % 100] = malloc(50 + i);
    }
}

static void lock_all(void) {
    if (!watched) return;
    churn();
    for (int i = 0; i < MUTEXES; ++i) pthread_mutex_lock(mutexes[i]);
}

static void unlock_all(void) {
    if (!watched) return;
    for (int i = 0; i < MUTEXES; ++i) pthread_mutex_unlock(mutexes[i]);
    churn();
}

/* Before the constructors of all libraries. */
static void first(int argc, char **argv, char **environment) {
    pthread_atfork(lock_all, unlock_all, unlock_all);
}
__attribute__((section(".preinit_array"), used)) static void (*before)(int, char **, char **) = first;

static void make(void) {
    for (int i = 0; i < OBJECTS; ++i) {
        if (posix_memalign((void **)&objects[i], PAGE, SIZE) != 0) exit(10);
        memset(objects[i], 'a', SIZE);
    }
}

static int all_are(char letter) {
    for (int i = 0; i < OBJECTS; ++i) {
        if (objects[i][PAGE + 5] != letter || objects[i][SIZE - 1] != letter) return 0;
    }
    return 1;
}

/* Whether a child has the same, and does not write to its parent's. */
static int forks(void) {
    const pid_t child = fork();
    if (child < 0) return 0;
    if (child == 0) {
        if (!all_are('a')) _exit(1);
        for (int i = 0; i < OBJECTS; ++i) memset(objects[i] + PAGE, 'c', SIZE - PAGE);
        _exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0 && all_are('a');
}

static FILE *streams[STREAMS];
static pthread_barrier_t held;

/* Holds the locks of all streams until the process ends. */
static void *hold(void *nothing) {
    for (int i = 0; i < STREAMS; ++i) flockfile(streams[i]);
    pthread_barrier_wait(&held);
    for (;;) pause();
    return nothing;
}

/* Streams that another thread holds at a fork are the child's to use. */
static int streams_are_free(void) {
    for (int i = 0; i < STREAMS; ++i) streams[i] = fopen("/dev/null", "w");
    pthread_barrier_init(&held, NULL, 2);
    pthread_t thread;
    if (pthread_create(&thread, NULL, hold, NULL) != 0) return 0;
    pthread_barrier_wait(&held);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < STREAMS; ++i) {
            if (ftrylockfile(streams[i]) != 0) _exit(1);
        }
        _exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0;
}

static void *try(void *nothing) {
    for (int i = 0; i < STREAMS; ++i) {
        if (ftrylockfile(streams[i]) == 0) return streams;
    }
    return nothing;
}

/* Streams that the forking thread holds are its own in the child, too. */
static int streams_are_held(void) {
    for (int i = 0; i < STREAMS; ++i) flockfile(streams[i] = fopen("/dev/null", "w"));
    const pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        void *got;
        if (pthread_create(&thread, NULL, try, NULL) != 0) _exit(2);
        pthread_join(thread, &got);
        _exit(got != NULL);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0;
}

/* What there is no memory for is refused. */
static int too_much_is_refused(void) {
    const size_t much = (size_t)2 << 30;
    const struct rlimit limit = {much / 2, much / 2};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) return 0;
    void *volatile block = malloc(much);
    if (block != NULL) return 0;
    block = realloc(objects[0], much);
    return block == NULL && all_are('a');
}

/* What was freed already is refused. */
static int ends_by_a_second_free(void) {
    for (int i = 0; i < OBJECTS; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            close(2);
            char *volatile twice = malloc(5000);
            free(twice);
            free(twice);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) return 0;
    }
    return 1;
}

static int is(const char *one, const char *other) { return strcmp(one, other) == 0; }

int main(int argc, char **argv) {
    const char *mode = argc == 2 ? argv[1] : "";
    if (is(mode, "handlers")) {
        for (int i = 0; i < MUTEXES; ++i) {
            mutexes[i] = malloc(sizeof *mutexes[i]);
            pthread_mutex_init(mutexes[i], NULL);
        }
        watched = 1;
        for (int i = 0; i < 20; ++i) {
            const pid_t child = fork();
            for (int j = 0; j < MUTEXES; ++j) {
                if (pthread_mutex_trylock(mutexes[j]) != 0) _exit(11);
                pthread_mutex_unlock(mutexes[j]);
            }
            if (child == 0) _exit(0);
            int status;
            if (waitpid(child, &status, 0) != child || status != 0) return 12;
        }
        return 0;
    }
    if (is(mode, "streams")) return streams_are_free() ? 0 : 23;
    if (is(mode, "own-streams")) return streams_are_held() ? 0 : 25;
    make();
    if (is(mode, "refused")) return too_much_is_refused() ? 0 : 26;
    if (is(mode, "freed-twice")) return ends_by_a_second_free() ? 0 : 24;
    if (is(mode, "unneeded")) {
        for (int i = 0; i < OBJECTS; ++i) {
            if (madvise(objects[i], SIZE, i % 2 ? MADV_DONTNEED : MADV_FREE) != 0) return 13;
            if (i % 2 && (objects[i][5] != 0 || objects[i][SIZE - 1] != 0)) return 14;
        }
        return 0;
    }
    if (is(mode, "protected")) {
        for (int i = 0; i < OBJECTS; ++i) mprotect(objects[i], PAGE, i % 2 ? PROT_NONE : PROT_READ);
        if (!forks()) return 15;
        for (int i = 0; i < OBJECTS; ++i) free(objects[i]);
        make(); /* where these were, and writes to them */
        return 0;
    }
    if (is(mode, "executable")) {
        memcpy(objects[3], "\xb8\x2a\0\0\0\xc3", 6); /* x86: return 42 */
        if (mprotect(objects[3], PAGE, PROT_READ | PROT_EXEC) != 0) return 16;
        const pid_t child = fork();
        if (child == 0) _exit(((int (*)(void))(void *)objects[3])());
        int status;
        return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42 ? 0 : 17;
    }
    if (is(mode, "locked")) {
        if (mlockall(MCL_CURRENT) != 0) return 18; /* where it fails, nothing is filled, either */
        return forks() ? 0 : 19;
    }
    const int resource = is(mode, "addresses") ? RLIMIT_AS
                         : is(mode, "no-file") ? RLIMIT_NOFILE
                                               : RLIMIT_FSIZE;
    const rlim_t bytes = resource == RLIMIT_AS ? 1 << 30 : 0;
    const struct rlimit limit = {bytes, bytes};
    if (setrlimit(resource, &limit) != 0) return 20;
    char *more = malloc(100 << 20);
    if (more == NULL) return 21;
    free(more);
    return forks() ? 0 : 22;
}
