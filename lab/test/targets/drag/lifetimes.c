/* A program that computes its own drag: objects that are used for a while and freed later.
 *
 *     lifetimes OBJECTS MODE       plain, threads, fork, realloc; prints live area, needed area, bytes
 *
 * Time is bytes allocated. In mode `fork` the process forks halfway, and parent and child continue.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 20000 };

struct object {
    char *bytes;
    size_t size;
    uint64_t birth, last, used_until;
};

static uint64_t clock_bytes;
static double live_area, needed_area;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void account(const struct object *object) {
    live_area += (double)object->size * (double)(clock_bytes - object->birth);
    needed_area += (double)object->size * (double)(object->last - object->birth);
}

static void check(const struct object *object) {
    for (size_t i = 1; i < object->size; i += 997) {
        if (object->bytes[i] != (char)object->size) {
            fputs("an object has lost what was in it\n", stderr);
            _exit(3);
        }
    }
}

static void born(struct object *object, size_t size, uint64_t *state) {
    object->size = size;
    object->birth = clock_bytes; /* the step of its own counts */
    clock_bytes += size;
    object->last = clock_bytes;
    object->used_until = clock_bytes + (next(state) % 3 ? next(state) % 2000000 : next(state) % 20000000);
}

static struct object objects[2][SLOTS];

static void churn(struct object *mine, long count, uint64_t seed, int reallocate) {
    uint64_t state = seed;
    for (long i = 0; i < count; ++i) {
        struct object *object = &mine[next(&state) % SLOTS];
        size_t size = 16 + next(&state) % 400;
        if (next(&state) % 200 == 0) size = 20000;
        pthread_mutex_lock(&lock);
        if (object->bytes && reallocate) {
            check(object);
            object->last = clock_bytes; /* what realloc copies it accesses */
            account(object);
            object->bytes = realloc(object->bytes, size);
        } else {
            if (object->bytes) {
                account(object);
                free(object->bytes);
            }
            object->bytes = malloc(size);
        }
        memset(object->bytes, (int)size, size);
        born(object, size, &state);
        for (int j = 0; j < 3; ++j) {
            struct object *other = &mine[next(&state) % SLOTS];
            if (other->bytes && clock_bytes < other->used_until) {
                other->bytes[0] ^= 1;
                other->last = clock_bytes;
            }
        }
        pthread_mutex_unlock(&lock);
    }
}

static void finish(void) {
    for (int set = 0; set < 2; ++set) {
        for (int i = 0; i < SLOTS; ++i) {
            if (objects[set][i].bytes) account(&objects[set][i]);
        }
    }
    printf("%.0f %.0f %llu\n", live_area, needed_area, (unsigned long long)clock_bytes);
    fflush(stdout);
}

static long half;

static void *second(void *nothing) {
    churn(objects[1], half, 88172645463325252ull, 0);
    return nothing;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const long count = atol(argv[1]);
    if (strcmp(argv[2], "threads") == 0) {
        half = count / 2;
        pthread_t thread;
        pthread_create(&thread, NULL, second, NULL);
        churn(objects[0], half, 1234567, 0);
        pthread_join(thread, NULL);
    } else if (strcmp(argv[2], "fork") == 0) {
        churn(objects[0], count / 2, 1234567, 0);
        const pid_t child = fork();
        if (child == 0) {
            /* Parent and child write different things where both have the same object. */
            for (int i = 0; i < SLOTS; ++i) {
                if (objects[0][i].bytes) memset(objects[0][i].bytes, 'c', objects[0][i].size);
            }
            usleep(100000);
            for (int i = 0; i < SLOTS; ++i) {
                const struct object *object = &objects[0][i];
                for (size_t j = 0; object->bytes && j < object->size; ++j) {
                    if (object->bytes[j] != 'c') _exit(4);
                }
            }
            churn(objects[1], count / 2, 7654321, 0);
            _exit(0);
        }
        churn(objects[0], count / 2, 24681012, 0);
        for (int i = 0; i < SLOTS; ++i) {
            if (objects[0][i].bytes) check(&objects[0][i]);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) return 5;
    } else {
        churn(objects[0], count, 1234567, strcmp(argv[2], "realloc") == 0);
    }
    finish();
    return 0;
}
