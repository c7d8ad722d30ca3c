// Allocates at random, computes its own drag by the definition, and prints it: the drag engine must reproduce
// it.
//
// Each argument names one way to use memory; the last is a seed. Prints "MODE LIVE NEEDED OBJECTS PEAK
// LEAST": the areas under the bytes in use and under the needed bytes, the number of objects, and the maximum
// of both. The reference model is in static memory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

enum { MAX = 40000, SLOTS = 64 };

struct object {
    volatile char *at;
    size_t size;
    int birth, last, freed;
};

static struct object objects[MAX];
static uint64_t sizes[MAX]; // by step
static int now;             // steps
static int count;
static uint64_t state;

static unsigned random_below(unsigned limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

// The reference model.
static struct object *born(volatile char *at, size_t size) {
    struct object *object = &objects[count++];
    sizes[now++] = size;
    *object = (struct object){at, size, now, now, 0};
    return object;
}
static void died(struct object *object) { object->freed = now; }

// What programs do to objects.
static volatile int seen;
static void reads(struct object *object) {
    if (object->size == 0) return;
    // The value is used: Valgrind removes an unused load before a tool sees it.
    seen += object->at[random_below((unsigned)object->size)];
    object->last = now;
}
static void writes(struct object *object) {
    if (object->size == 0) return;
    object->at[random_below((unsigned)object->size)] = 1;
    object->last = now;
}
static void kernel_reads(struct object *object) {
    static int sink = -1;
    if (sink < 0) sink = open("/dev/null", O_WRONLY);
    if (object->size > 0 && write(sink, (const void *)object->at, object->size) > 0) object->last = now;
}
static void kernel_writes(struct object *object) {
    static int source = -1;
    if (source < 0) source = open("/dev/zero", O_RDONLY);
    if (object->size > 0 && read(source, (void *)object->at, object->size) > 0) object->last = now;
}
static void wide(struct object *object) {
    typedef long long vector __attribute__((vector_size(16), aligned(1)));
    if (object->size < 16) return;
    *(volatile vector *)(object->at + random_below((unsigned)object->size - 15)) = (vector){1, 2};
    object->last = now;
}

static void use(struct object *object) {
    switch (random_below(8)) {
    case 0:
        kernel_reads(object);
        break;
    case 1:
        kernel_writes(object);
        break;
    case 2:
        wide(object);
        break;
    case 3:
    case 4:
        reads(object);
        break;
    default:
        writes(object);
    }
}

// One way to use memory: how objects come and go.
struct way {
    struct object *(*make)(void);
    void (*drop)(struct object *);
};

static size_t some_size(void) { return random_below(10) ? random_below(300) : random_below(20000); }

static struct object *make_malloc(void) {
    const size_t size = some_size();
    switch (random_below(4)) {
    case 0:
        return born(calloc(1, size), size);
    case 1:
        return born(memalign(64u << random_below(7), size), size);
    default:
        return born(malloc(size), size);
    }
}
static void drop_malloc(struct object *object) {
    died(object);
    free((void *)object->at);
}

// A free and an allocation: the copy is the old one's last access and the new one's first.
static struct object *resize(struct object *object) {
    const size_t size = 1 + some_size();
    volatile char *at = realloc((void *)object->at, size);
    if (object->size > 0) object->last = now;
    died(object);
    return born(at, size);
}

// A pool over one static buffer: blocks of 512 bytes, freed singly.
static char pool_memory[SLOTS * 512] __attribute__((aligned(16)));
static char pool_taken[SLOTS];
static struct object *make_pooled(void) {
    int slot = 0;
    while (pool_taken[slot]) ++slot;
    pool_taken[slot] = 1;
    char *at = pool_memory + slot * 512;
    const size_t size = 1 + random_below(512);
    VALGRIND_MEMPOOL_ALLOC(pool_memory, at, size);
    return born(at, size);
}
static void drop_pooled(struct object *object) {
    died(object);
    pool_taken[(object->at - pool_memory) / 512] = 0;
    VALGRIND_MEMPOOL_FREE(pool_memory, object->at);
}

static void run(const struct way *way, int steps, int resizes) {
    static struct object *held[SLOTS];
    memset(held, 0, sizeof held);
    while (steps-- > 0) {
        struct object **slot = &held[random_below(SLOTS)];
        if (!*slot)
            *slot = way->make();
        else if (random_below(3))
            use(*slot);
        else if (resizes && random_below(2))
            *slot = resize(*slot);
        else {
            way->drop(*slot);
            *slot = 0;
        }
    }
    // Half of them stay in use to the end.
    for (int i = 0; i < SLOTS / 2; ++i)
        if (held[i]) way->drop(held[i]);
}

static char seen_end;

static void print(const char *mode) {
    static uint64_t time[MAX + 1];
    unsigned __int128 live = 0, needed = 0;
    for (int i = 0; i < now; ++i) time[i + 1] = time[i] + sizes[i];
    static int64_t in_use[MAX + 1], in_need[MAX + 1];
    for (int i = 0; i < count; ++i) {
        struct object *each = &objects[i];
        if (!each->freed) {
            each->freed = now;
            // Nothing can be said of what a killed process had in use, but that it may have been needed.
            if (!strcmp(mode, "killed")) each->last = now;
        }
        live += (unsigned __int128)each->size * (time[each->freed] - time[each->birth - 1]);
        needed += (unsigned __int128)each->size * (time[each->last] - time[each->birth - 1]);
        in_use[each->birth - 1] += (int64_t)each->size;
        in_use[each->freed] -= (int64_t)each->size;
        in_need[each->birth - 1] += (int64_t)each->size;
        in_need[each->last] -= (int64_t)each->size;
    }
    int64_t level = 0, need = 0, peak = 0, least = 0;
    for (int i = 0; i < now; ++i) {
        level += in_use[i];
        need += in_need[i];
        if (level > peak) peak = level;
        if (need > least) least = need;
    }
    static char line[200]; // dprintf would allocate
    const int length =
        snprintf(line, sizeof line, "%s %llu %llu %d %lld %lld\n", mode, (unsigned long long)live,
                 (unsigned long long)needed, count, (long long)peak, (long long)least);
    if (write(1, line, (size_t)length) != length) _exit(3);
}

// Threads take turns, as there is one clock.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t started, done;
static const struct way by_malloc = {make_malloc, drop_malloc};
static void *thread(void *unused) {
    pthread_barrier_wait(&started);
    for (int i = 0; i < 20; ++i) {
        pthread_mutex_lock(&turn);
        run(&by_malloc, 60, 1);
        pthread_mutex_unlock(&turn);
    }
    pthread_barrier_wait(&done);
    pause();
    return unused;
}
static void threads(void) {
    pthread_barrier_init(&started, 0, 5);
    pthread_barrier_init(&done, 0, 5);
    pthread_t id;
    for (int i = 0; i < 4; ++i) pthread_create(&id, 0, thread, 0);
    pthread_barrier_wait(&started);
    pthread_barrier_wait(&done);
}

// A coroutine's stack is an object that only its pushes access.
static ucontext_t outside, inside;
static void coroutine(void) {
    for (;;) swapcontext(&inside, &outside);
}
static void coroutines(void) {
    struct object *stack = make_malloc();
    while (stack->size < 16384) stack = make_malloc();
    getcontext(&inside);
    inside.uc_stack.ss_sp = (void *)stack->at;
    inside.uc_stack.ss_size = stack->size;
    makecontext(&inside, coroutine, 0);
    for (int i = 0; i < 50; ++i) {
        reads(make_malloc());
        swapcontext(&outside, &inside);
        stack->last = now;
    }
    for (int i = 0; i < 50; ++i) writes(make_malloc());
    drop_malloc(stack);
}

// A pool on a thread's own stack.
static void on_stack(void) {
    char memory[4096] __attribute__((aligned(16)));
    VALGRIND_CREATE_MEMPOOL(memory, 0, 0);
    for (int i = 0; i < 8; ++i) {
        VALGRIND_MEMPOOL_ALLOC(memory, memory + i * 512, 512);
        born(memory + i * 512, 512);
    }
    struct object *first = &objects[count - 8];
    for (int i = 0; i < 20; ++i) {
        reads(make_malloc());
        // By the stack pointer and a constant, after another such access in the same block of code.
        *(volatile long *)(memory + 1024) = i;
        first[2].last = now;
        *(volatile long *)(memory + 512) = i;
        first[1].last = now;
    }
    for (int i = 0; i < 8; ++i) died(&first[i]);
    VALGRIND_DESTROY_MEMPOOL(memory);
}

// Every client request of pools, within one malloc block, which then is not an object.
static void requests(void) {
    char *const chunk = malloc(65536), *const apart = chunk + 40960;
    struct object *each[16];
    VALGRIND_CREATE_MEMPOOL(chunk, 0, 0);
    for (int i = 0; i < 16; ++i) {
        VALGRIND_MEMPOOL_ALLOC(chunk, chunk + i * 1024, 1000);
        each[i] = born(chunk + i * 1024, 1000);
        if (i % 2) writes(each[i]);
    }
    VALGRIND_MEMPOOL_ALLOC(chunk, chunk, (size_t)-100); // a mistake
    VALGRIND_MEMPOOL_ALLOC(chunk, (char *)0xFFFF000000000000, 100);
    VALGRIND_MOVE_MEMPOOL(chunk, objects);
    VALGRIND_MEMPOOL_TRIM(objects, chunk + 4096, 8192);
    for (int i = 0; i < 16; ++i)
        if (i < 4 || i >= 12) died(each[i]);
    for (int i = 4; i < 8; ++i) reads(each[i]);
    VALGRIND_MEMPOOL_CHANGE(objects, each[4]->at, chunk + 32768, 3000);
    died(each[4]);
    each[4] = born(chunk + 32768, 3000);
    writes(each[4]);
    VALGRIND_MEMPOOL_FREE(objects, each[5]->at);
    died(each[5]);
    VALGRIND_MALLOCLIKE_BLOCK(apart, 500, 0, 0);
    struct object *like = born(apart, 500);
    writes(like);
    VALGRIND_RESIZEINPLACE_BLOCK(apart, 500, 700, 0);
    died(like);
    like = born(apart, 700);
    reads(like);
    VALGRIND_FREELIKE_BLOCK(apart, 0);
    died(like);
    if (RUNNING_ON_VALGRIND && !VALGRIND_MEMPOOL_EXISTS(objects)) _exit(4);
    VALGRIND_DESTROY_MEMPOOL(objects);
    for (int i = 4; i < 12; ++i)
        if (!each[i]->freed) died(each[i]);
    if (RUNNING_ON_VALGRIND && VALGRIND_MEMPOOL_EXISTS(objects)) _exit(5);
    VALGRIND_MEMPOOL_ALLOC(chunk, chunk, 64); // nobody frees it
    born(chunk, 64);
    free(chunk);
}

int main(int words, char **word) {
    static const struct way pooled = {make_pooled, drop_pooled};
    if (words < 3) return 2;
    state = strtoull(word[words - 1], 0, 10);
    const char *mode = word[1];
    if (!strcmp(mode, "malloc")) run(&by_malloc, 12000, 0);
    if (!strcmp(mode, "realloc")) run(&by_malloc, 12000, 1);
    if (!strcmp(mode, "threads")) threads();
    if (!strcmp(mode, "coroutine")) coroutines();
    if (!strcmp(mode, "stack")) on_stack();
    if (!strcmp(mode, "requests")) requests();
    if (!strcmp(mode, "pool")) {
        VALGRIND_CREATE_MEMPOOL(pool_memory, 0, 0);
        run(&pooled, 12000, 0);
    }
    if (!strcmp(mode, "fork")) {
        run(&by_malloc, 2000, 0);
        if (fork() == 0) {
            count = now = 0;
            run(&by_malloc, 2000, 0);
            print("child");
            _exit(0);
        }
        wait(0);
        run(&by_malloc, 2000, 0);
    }
    if (!strcmp(mode, "exec")) {
        run(&by_malloc, 2000, 0);
        execl("/nowhere", "nowhere", (char *)0); // fails, and the program goes on
        run(&by_malloc, 2000, 0);
    }
    if (!strcmp(mode, "killed")) {
        int ends[2];
        if (pipe(ends) != 0) return 3;
        const int child = fork();
        if (child == 0) {
            run(&by_malloc, 2000, 0);
            print(mode);
            close(ends[1]);
            for (;;) pause();
        }
        close(ends[1]);
        if (read(ends[0], &seen_end, 1) != 0) return 3;
        kill(child, SIGKILL);
        wait(0);
        _exit(0);
    }
    if (!strcmp(mode, "dies")) {
        run(&by_malloc, 2000, 0);
        print(mode);
        raise(SIGSEGV);
    }
    print(mode);
    _exit(0);
}
