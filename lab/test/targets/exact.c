// Makes random calls of every allocation function of C and writes to a file what they came to. Keeps its own
// books without allocating, so that every allocation of the process is one that it counted.
//
//     exact FILE SEED CALLS [SMALLEST]
//
// No block is smaller than SMALLEST, in bytes; 0 unless told.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 500, LARGEST = 1 << 20 };

static struct {
    void *block;
    size_t size;
    unsigned long born; // how many allocations there had been, this one included
} slots[SLOTS];

static unsigned by_size[LARGEST + 1], temporary_by_size[LARGEST + 1];
static unsigned long allocations, frees, failures, temporary, objects, bytes, peak_objects, peak_bytes;
static const char *const names[] = {"malloc",         "calloc",        "realloc",           "reallocarray",
                                    "posix_memalign", "aligned_alloc", "memalign",          "valloc",
                                    "pvalloc",        "free",          "malloc_usable_size"};
enum { MALLOC, CALLOC, REALLOC, REALLOCARRAY, POSIX, ALIGNED, MEMALIGN, VALLOC, PVALLOC, FREE, USABLE };
static unsigned long calls[sizeof names / sizeof *names];
static size_t smallest;
static uint64_t state;
static int output;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t any_size(void) {
    switch (draw() % 10) {
    case 0:
        return draw() % 2 ? 0 : draw() % 17;
    case 1:
        return 4000 + draw() % 200;
    case 2:
        return draw() % LARGEST;
    default:
        return 1 + draw() % 600;
    }
}

static size_t some_size(void) {
    const size_t size = any_size();
    return size < smallest ? smallest : size;
}

// dprintf would allocate.
__attribute__((format(printf, 2, 3))) static void say(int where, const char *format, ...) {
    char line[200];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (write(where, line, (size_t)length) != length) _exit(8);
}

static void fail(const char *what) {
    say(2, "%s\n", what);
    _exit(9);
}

static void gained(int at, void *block, size_t size) {
    if (!block) fail("out of memory");
    if (malloc_usable_size(block) < size) fail("too small");
    calls[USABLE]++;
    slots[at].block = block;
    slots[at].size = size;
    slots[at].born = ++allocations;
    by_size[size]++;
    objects++;
    bytes += size;
    if (objects > peak_objects) peak_objects = objects;
    if (bytes > peak_bytes) peak_bytes = bytes;
}

static void lost(int at) {
    if (slots[at].born == allocations) {
        temporary++;
        temporary_by_size[slots[at].size]++;
    }
    frees++;
    objects--;
    bytes -= slots[at].size;
    slots[at].block = NULL;
}

static void refused(int call, int wrong) {
    calls[call]++;
    failures++;
    if (wrong) fail(names[call]);
}

// Calls that cannot succeed. A size that the compiler does not know, so that it does not warn or think.
static void ask_for_too_much(int at) {
    static volatile size_t huge = SIZE_MAX - 100;
    void *const untouched = &state;
    void *out = untouched;
    errno = 0;
    switch (draw() % 8) {
    case 0:
        refused(MALLOC, malloc(huge) != NULL || errno != ENOMEM);
        break;
    case 1:
        refused(MALLOC, malloc(huge / 2 + 51) != NULL || errno != ENOMEM);
        break; // 2^63 + 1 and its like
    case 2:
        refused(CALLOC, calloc(huge, 3) != NULL || errno != ENOMEM);
        break;
    case 3:
        refused(REALLOCARRAY, reallocarray(slots[at].block, huge, 5) != NULL || errno != ENOMEM);
        break;
    case 4:
        refused(REALLOC, realloc(slots[at].block, huge) != NULL || errno != ENOMEM);
        break;
    case 5:
        refused(POSIX, posix_memalign(&out, 24, 100) != EINVAL || out != untouched || errno != 0);
        break;
    case 6:
        refused(POSIX, posix_memalign(&out, 64, huge) != ENOMEM || out != untouched);
        break;
    default:
        refused(VALLOC, valloc(huge) != NULL || errno != ENOMEM);
        break;
    }
}

static void allocate(int at) {
    const size_t size = some_size();
    const size_t alignment = (size_t)16 << draw() % 8;
    void *block = NULL;
    int call = (int)(draw() % 14);
    if (call > PVALLOC) call = MALLOC;
    errno = 77;
    switch (call) {
    case MALLOC:
        block = malloc(size);
        break;
    case CALLOC:
        block = calloc(size, 1);
        break;
    case REALLOC:
        block = realloc(NULL, size);
        break;
    case REALLOCARRAY:
        block = reallocarray(NULL, size, 1);
        break;
    case POSIX:
        if (posix_memalign(&block, alignment, size)) fail("posix_memalign");
        break;
    case ALIGNED:
        block = aligned_alloc(alignment, size);
        break;
    case MEMALIGN:
        block = memalign(alignment, size);
        break;
    case VALLOC:
        block = valloc(size);
        break;
    default:
        block = pvalloc(size);
        break;
    }
    if (errno != 77) fail("errno was changed");
    if (call >= POSIX && call <= MEMALIGN && (uintptr_t)block % alignment) fail("not aligned");
    if (call == CALLOC)
        for (size_t i = 0; i < size; i++)
            if (((char *)block)[i]) fail("calloc gave no zeros");
    calls[call]++;
    gained(at, block, size);
    for (size_t i = 0; i < size; i += 512) ((char *)block)[i] = (char)i;
}

static void reallocate(int at) {
    const size_t old = slots[at].size;
    char *before = slots[at].block;
    const char first = old ? before[0] : 0;
    const size_t size = draw() % 20 ? some_size() : 0;
    const int call = draw() % 3 ? REALLOC : REALLOCARRAY;
    errno = 77;
    char *block = call == REALLOC ? realloc(before, size) : reallocarray(before, 1, size);
    if (errno != 77) fail("errno was changed by realloc");
    calls[call]++;
    lost(at);
    if (size == 0) {
        if (block) fail("realloc to 0 is free in this C library");
        return;
    }
    if (old && block[0] != first) fail("realloc lost what was there");
    gained(at, block, size);
}

static void release(int at) {
    errno = 77;
    free(slots[at].block);
    if (errno != 77) fail("errno was changed by free");
    calls[FREE]++;
    lost(at);
}

int main(int count, char **words) {
    if (count != 4 && count != 5) return 2;
    smallest = count == 5 ? strtoull(words[4], NULL, 10) : 0;
    output = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    state = strtoull(words[2], NULL, 10) * 2654435761u + 88172645463325252u;
    for (long left = atol(words[3]); left > 0; left--) {
        const int at = (int)(draw() % SLOTS);
        const unsigned what = (unsigned)(draw() % 100);
        if (what == 0)
            ask_for_too_much(at);
        else if (what == 1)
            free(NULL);
        else if (!slots[at].block)
            allocate(at);
        else if (what < 30)
            reallocate(at);
        else
            release(at);
        if (what >= 95 && slots[at].block) release(at); // temporary, mostly
    }
    for (size_t size = 0; size <= LARGEST; size++)
        if (by_size[size]) say(output, "size %zu %u\n", size, by_size[size]);
    for (size_t size = 0; size <= LARGEST; size++)
        if (temporary_by_size[size]) say(output, "temporary %zu %u\n", size, temporary_by_size[size]);
    for (int at = 0; at < SLOTS; at++)
        if (slots[at].block) say(output, "left %zu 1\n", slots[at].size);
    for (size_t call = 0; call < sizeof names / sizeof *names; call++)
        if (calls[call]) say(output, "call %s %lu\n", names[call], calls[call]);
    say(output, "total objects %lu\ntotal frees %lu\ntotal failures %lu\ntotal temporary %lu\n", allocations,
        frees, failures, temporary);
    say(output, "total peak_objects %lu\ntotal peak_bytes %lu\n", peak_objects, peak_bytes);
    say(output, "total left_objects %lu\ntotal left_bytes %lu\n", objects, bytes);
    return 0;
}
