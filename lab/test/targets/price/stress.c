/* Random calls of every allocation function against a model, in threads that give each other blocks, and in
 * children of forks: stress SEED THREADS OPERATIONS. Prints `sound`, or ends with 1 and says what is not. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 1024, SHARED = 256 };

struct block {
    unsigned char *memory;
    size_t size;
    unsigned char mark;
};

static struct block shared[SHARED];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long operations;

static uint64_t next(uint64_t *state) {
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void require(int sound, const char *what) {
    if (sound) return;
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

static size_t some_size(uint64_t *state) {
    const uint64_t kind = next(state) % 100;
    if (kind < 70) return next(state) % 600;
    if (kind < 95) return next(state) % 20000;
    return next(state) % 400000;
}

static int is(const struct block *block, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        if (block->memory[i] != (unsigned char)(block->mark + i)) return 0;
    }
    return 1;
}

static void fill(struct block *block, uint64_t *state) {
    block->mark = (unsigned char)next(state);
    for (size_t i = 0; i < block->size; ++i) block->memory[i] = (unsigned char)(block->mark + i);
}

static void make(struct block *block, uint64_t *state) {
    const size_t size = some_size(state);
    size_t alignment = 16;
    void *memory = NULL;
    switch (next(state) % 10) {
    case 0:
        memory = calloc(size / 8 + 1, 8);
        for (size_t i = 0; i < size; ++i) require(((char *)memory)[i] == 0, "calloc: not zero");
        break;
    case 1:
        alignment = (size_t)8 << next(state) % 14;
        require(posix_memalign(&memory, alignment, size) == 0, "posix_memalign failed");
        break;
    case 2:
        alignment = (size_t)1 << next(state) % 18;
        memory = memalign(alignment, size);
        break;
    case 3:
        alignment = 64;
        memory = aligned_alloc(alignment, (size + 63) & ~(size_t)63);
        break;
    case 4:
        alignment = 4096;
        memory = next(state) % 2 ? valloc(size) : pvalloc(size);
        break;
    case 5:
        memory = reallocarray(NULL, size / 4 + 1, 4);
        break;
    default:
        memory = malloc(size);
    }
    require(memory != NULL, "no memory");
    require((uintptr_t)memory % alignment == 0, "not aligned");
    require(size == 0 || malloc_usable_size(memory) >= size, "usable size too small");
    *block = (struct block){memory, size, 0};
    if (next(state) % 4 == 0) block->size = malloc_usable_size(memory);
    fill(block, state);
}

static void drop(struct block *block) {
    require(is(block, block->size), "contents changed");
    errno = 77;
    free(block->memory);
    require(errno == 77, "free changed errno");
    block->memory = NULL;
}

static void grow(struct block *block, uint64_t *state) {
    require(is(block, block->size), "contents changed before realloc");
    const size_t size = some_size(state) + 1;
    const size_t kept = size < block->size ? size : block->size;
    block->memory = realloc(block->memory, size);
    require(block->memory != NULL, "realloc failed");
    require(is(block, kept), "realloc lost contents");
    block->size = size;
    fill(block, state);
}

static void swap_with_others(struct block *block, uint64_t *state) {
    pthread_mutex_lock(&lock);
    struct block *const other = &shared[next(state) % SHARED];
    const struct block mine = *block;
    *block = *other;
    *other = mine;
    pthread_mutex_unlock(&lock);
}

static void child(uint64_t seed);

static void *run(void *argument) {
    uint64_t state = (uintptr_t)argument;
    struct block *const held = calloc(HELD, sizeof *held);
    for (long i = 0; i < operations; ++i) {
        struct block *const block = &held[next(&state) % HELD];
        const uint64_t kind = next(&state) % 8;
        if (kind == 0) {
            swap_with_others(block, &state);
        } else if (block->memory == NULL) {
            make(block, &state);
        } else if (kind == 1) {
            grow(block, &state);
        } else {
            drop(block);
        }
        if (next(&state) % 40000 == 0) child(next(&state));
    }
    for (int i = 0; i < HELD; ++i) {
        if (held[i].memory != NULL) drop(&held[i]);
    }
    free(held);
    return NULL;
}

static void child(uint64_t seed) {
    const pid_t pid = fork();
    if (pid == 0) {
        operations = 500;
        pthread_mutex_init(&lock, NULL);
        memset(shared, 0, sizeof shared); /* another thread may be within a swap */
        run((void *)(uintptr_t)(seed | 1));
        pthread_t thread;
        require(pthread_create(&thread, NULL, run, (void *)(uintptr_t)(seed | 3)) == 0, "no thread");
        pthread_join(thread, NULL);
        _exit(0);
    }
    int status = 0;
    require(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "the child failed");
}

static void edges(void) {
    free(NULL);
    void *const none = malloc(0), *const other = malloc(0);
    require(none != NULL && none != other, "malloc(0)");
    free(none);
    free(other);
    volatile size_t huge = SIZE_MAX / 2 + 1; /* volatile, as the compiler knows that these fail */
    errno = 0;
    require(malloc(huge) == NULL && errno == ENOMEM, "malloc of too much");
    errno = 0;
    require(malloc(huge - 4096) == NULL && errno == ENOMEM, "malloc of too much");
    errno = 0;
    require(calloc(huge, 3) == NULL && errno == ENOMEM, "calloc that overflows");
    errno = 0;
    require(memalign(4096, huge) == NULL && errno == ENOMEM, "memalign of too much");
    void *const block = malloc(100);
    memset(block, 1, 100);
    errno = 0;
    require(realloc(block, huge) == NULL && errno == ENOMEM, "realloc to too much");
    errno = 0;
    require(reallocarray(block, huge, 4) == NULL && errno == ENOMEM, "reallocarray that overflows");
    require(((char *)block)[99] == 1, "realloc that failed changed the block");
    void *out = block;
    require(posix_memalign(&out, 24, 8) == EINVAL && out == block, "posix_memalign to no alignment");
    require(posix_memalign(&out, 64, huge) == ENOMEM && out == block, "posix_memalign of too much");
    require(malloc_usable_size(NULL) == 0, "usable size of null");
    require(realloc(block, 0) == NULL, "realloc to 0");
    void *const fresh = realloc(NULL, 10);
    require(fresh != NULL, "realloc of null");
    free(fresh);
}

int main(int count, char **words) {
    require(count == 4, "stress SEED THREADS OPERATIONS");
    const uint64_t seed = strtoull(words[1], NULL, 10);
    const int threads = atoi(words[2]);
    operations = atol(words[3]);
    edges();
    for (int round = 0; round < 3; ++round) { /* later threads get what earlier ones had */
        pthread_t started[64];
        for (int i = 0; i < threads; ++i) {
            void *const own = (void *)(uintptr_t)(seed * 1000 + (uint64_t)round * 100 + (uint64_t)i);
            require(pthread_create(&started[i], NULL, run, own) == 0, "no thread");
        }
        for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
    }
    for (int i = 0; i < SHARED; ++i) {
        if (shared[i].memory != NULL) drop(&shared[i]);
    }
    puts("sound");
    return 0;
}
