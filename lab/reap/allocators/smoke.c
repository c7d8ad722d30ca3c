/* A program that an allocator must serve, in parts, all of them or the one that is named: "malloc" says which
 * file each function comes from, a line "function file" each; "aligned" asks for aligned blocks of many
 * sizes; "threads" has threads allocate, hand blocks to each other and check what is in them, while children
 * are forked that allocate too.
 *
 * Exits with 0, or with 1 and a line that says which block was damaged. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 256, ROUNDS = 30000, FORKS = 12 };

/* Whether a block that is not aligned is a fault: not where threads alone are looked at. */
static int judge_alignment = 1;

/* Shared by all threads, so that most blocks are freed by another thread than their own. */
static _Atomic(unsigned char *) slots[SLOTS];

static void fail(const char *what) {
    fprintf(stderr, "smoke: %s\n", what);
    _exit(1);
}

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* A block begins with its size, and every byte after that has the same value. */
static void fill(unsigned char *block, size_t size) {
    memcpy(block, &size, sizeof size);
    memset(block + sizeof size, (int)(size & 0xff), size - sizeof size);
}

static void check(const unsigned char *block) {
    size_t size;
    memcpy(&size, block, sizeof size);
    for (size_t at = sizeof size; at < size; ++at)
        if (block[at] != (size & 0xff)) fail("a block that was in use has been written to by another");
    if (malloc_usable_size((void *)block) < size) fail("malloc_usable_size says less than was asked for");
}

static unsigned char *allocate(uint64_t *state) {
    uint64_t dice = next(state);
    /* Mostly small; one in 64 up to 256 KiB, which allocators map. */
    size_t size = sizeof size + (dice >> 8) % (dice % 64 ? 512 : 262144);
    size_t alignment = (size_t)16 << (dice >> 40) % 9;
    void *block = NULL;
    switch ((dice >> 32) % 5) {
    case 0:
        block = calloc(size, 1);
        for (size_t at = 0; block && at < size; ++at)
            if (((unsigned char *)block)[at]) fail("calloc gave a block that is not zero");
        break;
    case 1:
        block = aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
        if (judge_alignment && (uintptr_t)block % alignment)
            fail("aligned_alloc gave a block that is not aligned");
        break;
    case 2:
        if (posix_memalign(&block, alignment, size)) fail("posix_memalign gave nothing");
        if (judge_alignment && (uintptr_t)block % alignment)
            fail("posix_memalign gave a block that is not aligned");
        break;
    default:
        block = malloc(size);
    }
    if (!block) fail("there is no memory");
    fill(block, size);
    return block;
}

static void *work(void *seed) {
    uint64_t state = (uintptr_t)seed * UINT64_C(0x9e3779b97f4a7c15);
    for (int round = 0; round < ROUNDS; ++round) {
        unsigned char *block = allocate(&state);
        if (round % 8 == 0) {
            size_t size = sizeof size + next(&state) % 4096;
            size_t before;
            memcpy(&before, block, sizeof before);
            block = realloc(block, size);
            if (!block) fail("realloc gave nothing");
            for (size_t at = sizeof size; at < (before < size ? before : size); ++at)
                if (block[at] != (before & 0xff)) fail("realloc lost what was in the block");
            fill(block, size);
        }
        unsigned char *old = atomic_exchange(&slots[next(&state) % SLOTS], block);
        if (old) {
            check(old);
            free(old);
        }
    }
    return NULL;
}

static void say_providers(void) {
    static const char *const names[] = {"malloc",        "free",           "calloc",   "realloc",
                                        "aligned_alloc", "posix_memalign", "memalign", "malloc_usable_size"};
    void *const functions[] = {
        (void *)malloc,        (void *)free,           (void *)calloc,   (void *)realloc,
        (void *)aligned_alloc, (void *)posix_memalign, (void *)memalign, (void *)malloc_usable_size};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        Dl_info info = {0};
        dladdr(functions[i], &info);
        printf("%s %s\n", names[i], info.dli_fname ? info.dli_fname : "");
    }
    fflush(stdout);
}

/* Every alignment up to a page with sizes that are and are not multiples of it, most of them in use at once.
 */
static void ask_for_aligned(void) {
    enum { KEPT = 4096 };
    static void *kept[KEPT];
    size_t next = 0;
    for (int pass = 0; pass < 3; ++pass) {
        for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
            for (size_t size = 8; size <= 16384; size += size < 256 ? 8 : size / 3) {
                size_t sizes[3] = {(size + alignment - 1) & ~(alignment - 1), size, size};
                void *blocks[3] = {aligned_alloc(alignment, sizes[0]), aligned_alloc(alignment, size), NULL};
                if (posix_memalign(&blocks[2], alignment, size)) fail("posix_memalign gave nothing");
                for (int each = 0; each < 3; ++each) {
                    /* Allocators may refuse a size that is no multiple of the alignment. */
                    if (!blocks[each] && each != 1) fail("there is no memory");
                    if ((uintptr_t)blocks[each] % alignment) {
                        fprintf(stderr, "smoke: %s gave a block of %zu bytes that is not aligned to %zu\n",
                                each == 2 ? "posix_memalign" : "aligned_alloc", sizes[each], alignment);
                        _exit(1);
                    }
                    if (blocks[each]) memset(blocks[each], 1, sizes[each]);
                    free(kept[next]);
                    kept[next] = blocks[each];
                    next = (next + 7) % KEPT;
                }
            }
        }
    }
    for (size_t i = 0; i < KEPT; ++i) free(kept[i]);
}

static void run_threads(void) {
    pthread_t threads[THREADS];
    /* A fault that needs no thread is reported here; later, threads and children would all report theirs. */
    uint64_t alone = 1;
    for (int n = 0; n < 1000; ++n) free(allocate(&alone));
    for (uintptr_t i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1))) fail("no thread could be started");
    for (int i = 0; i < FORKS; ++i) {
        pid_t child = fork();
        if (child < 0) fail("no child could be forked");
        if (child == 0) {
            alarm(20); /* fork does not pass it on */
            uint64_t state = 99;
            for (int n = 0; n < 1000; ++n) free(allocate(&state));
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status)
            fail("a child that was forked beside threads failed or hung");
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; ++i) {
        if (slots[i]) check(slots[i]);
        free(slots[i]);
    }
}

int main(int count, char **words) {
    alarm(60); /* one that hangs is ended */
    const char *part = count > 1 ? words[1] : "";
    judge_alignment = strcmp(part, "threads") != 0;
    if (!*part || !strcmp(part, "malloc")) say_providers();
    if (!*part || !strcmp(part, "aligned")) ask_for_aligned();
    if (!*part || !strcmp(part, "threads")) run_threads();
    return 0;
}
