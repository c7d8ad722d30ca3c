// Programs that access objects as they free them, each with a twin that does not: `release NAME` and
// `release NAME twin`. See model.h for the output.
#include "model.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "reap/mark.h"

enum { ROUNDS = 20, MANY = 500 };

struct node {
    struct node *next, *left, *right;
    volatile int value, count;
    char more[60];
};

static volatile long sum;
static int twin;
static unsigned state = 1;
static unsigned next_random(void) { return state = state * 1103515245u + 12345u; }

static struct node *make(void) {
    struct node *one = malloc(sizeof *one);
    born(one, sizeof *one);
    one->value = (int)(next_random() >> 16);
    one->count = 1;
    one->next = one->left = one->right = 0;
    return one;
}

static void end(struct node *one) {
    freed(one);
    free(one);
}

// The value is used: Valgrind removes an unused load.
static void use(struct node *one) {
    sum += one->value;
    used(one);
}

static struct node *beside[MANY];

// A naive region: its list is linked through the objects.
static void walked(void) {
    struct node *all = 0;
    for (int i = 0; i < MANY; ++i) {
        struct node *one = make();
        use(one);
        one->next = all;
        beside[i] = all = one;
    }
    if (twin)
        for (int i = 0; i < MANY; ++i) end(beside[i]);
    else
        for (struct node *one = all, *next; one; one = next) {
            next = one->next;
            released(one);
            end(one);
        }
}

static void cut(struct node *one) {
    if (!one) return;
    cut(one->left);
    cut(one->right);
    released(one);
    end(one);
}

// A search tree: each insertion uses the nodes on its path.
static void tree(void) {
    struct node *root = 0;
    for (int i = 0; i < MANY; ++i) {
        struct node *one = beside[i] = make();
        struct node **place = &root;
        while (*place) {
            struct node *above = *place;
            use(above);
            place = one->value < above->value ? &above->left : &above->right;
        }
        *place = one;
    }
    if (twin)
        for (int i = 0; i < MANY; ++i) end(beside[i]);
    else
        cut(root);
}

// Each object has two owners, counted in the object or, in the twin, outside.
static void counted(void) {
    static int owners[MANY];
    for (int i = 0; i < MANY; ++i) {
        beside[i] = make();
        beside[i]->count = owners[i] = 2;
        if (i >= 50) use(beside[i - 50]);
    }
    for (int turn = 0; turn < 2; ++turn)
        for (int i = 0; i < MANY; ++i) {
            int left = --owners[i];
            if (!twin) {
                left = --beside[i]->count;
                released(beside[i]);
            }
            if (left == 0) end(beside[i]);
        }
}

// A pool that wipes freed objects.
static void wiped(void) {
    for (int i = 0; i < MANY; ++i) use(beside[i] = make());
    for (int i = 0; i < MANY; ++i) {
        if (!twin) {
            memset(beside[i], 0, sizeof *beside[i]);
            released(beside[i]);
        }
        end(beside[i]);
    }
}

// With 16-byte accesses, each of which covers two slots.
static void wide(void) {
    typedef struct {
        __int128 first, second;
    } pair;
    for (int i = 0; i < MANY; ++i) {
        volatile pair *one = malloc(sizeof *one);
        beside[i] = (struct node *)one;
        born((void *)one, sizeof *one);
        one->first = one->second = i;
        if (i >= 10) {
            sum += (long)((volatile pair *)beside[i - 10])->second;
            used(beside[i - 10]);
        }
    }
    for (int i = 0; i < MANY; ++i) {
        if (!twin) {
            ((volatile pair *)beside[i])->first += ((volatile pair *)beside[i])->second;
            released(beside[i]);
        }
        end(beside[i]);
    }
}

// Parents have lists of children, through these; freeing one frees its children.
static void family(struct node *one) {
    for (struct node *child = one->left, *next; child; child = next) {
        next = child->next;
        released(child);
        family(child);
    }
    released(one);
    end(one);
}
static void hierarchy(void) {
    for (int i = 0; i < MANY; ++i) {
        struct node *one = beside[i] = make();
        use(one);
        if (i == 0) continue;
        struct node *parent = beside[(i - 1) / 3];
        one->next = parent->left;
        parent->left = one;
        used(parent);
    }
    if (twin)
        for (int i = 0; i < MANY; ++i) end(beside[i]);
    else
        family(beside[0]);
}

// Elements of a queue are used when they are removed and freed; the twin uses them earlier.
static void queue(void) {
    for (int i = 0; i < MANY; ++i) {
        beside[i] = make();
        if (twin) use(beside[i]);
    }
    for (int i = 0; i < MANY; ++i) {
        if (!twin) use(beside[i]);
        end(beside[i]);
    }
}

// Used and freed before the next allocation; the twin frees them after others are allocated.
static void temporary(void) {
    for (int i = 0; i < MANY; ++i) {
        use(beside[i] = make());
        if (!twin) end(beside[i]);
        if (twin && i % 20 == 19)
            for (int j = i - 19; j <= i; ++j) end(beside[j]);
    }
}

// realloc's copy is a use; the twin allocates a new block.
static void grown(void) {
    enum { BLOCKS = 20 };
    static char *at[BLOCKS];
    static size_t size[BLOCKS];
    for (int i = 0; i < BLOCKS; ++i) {
        at[i] = malloc(size[i] = 64);
        born(at[i], 64);
    }
    for (int turn = 0; turn < 6; ++turn)
        for (int i = 0; i < BLOCKS; ++i) {
            char *old = at[i];
            size[i] *= 2;
            if (twin) {
                freed(old);
                free(old);
                at[i] = malloc(size[i]);
                born(at[i], size[i]);
            } else {
                used(old);
                record(old)->earlier = step; // no release
                freed(old);
                at[i] = realloc(old, size[i]);
                born(at[i], size[i]);
            }
        }
    for (int i = 0; i < BLOCKS; ++i) {
        freed(at[i]);
        free(at[i]);
    }
}

// Objects of a pool in one block; before they go the pool reads a word of each.
static void pool(void) {
    static char memory[MANY * sizeof(struct node)];
    reap_mark_pool_create(memory, "pool");
    for (int i = 0; i < MANY; ++i) {
        struct node *one = beside[i] = (struct node *)memory + i;
        reap_mark_pool_alloc(memory, one, sizeof *one);
        born(one, sizeof *one);
        one->value = i;
        use(one);
    }
    for (int i = 0; i < MANY; ++i) {
        if (!twin) {
            sum += beside[i]->count;
            released(beside[i]);
        }
        freed(beside[i]);
    }
    reap_mark_pool_destroy(memory);
}

static volatile int turn = -1;
static void *worker(void *number) {
    for (int i = (int)(intptr_t)number; i < ROUNDS; i += 2) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i) sched_yield();
        walked();
        __atomic_store_n(&turn, i + 1, __ATOMIC_RELEASE);
    }
    return 0;
}
// Two that take turns: each frees what it allocated itself. They begin when both are there, since what the C
// library allocates for the second one would lengthen the lives of the first one's objects.
static void threads(void) {
    pthread_t each[2];
    for (intptr_t i = 0; i < 2; ++i) pthread_create(&each[i], 0, worker, (void *)i);
    __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; ++i) pthread_join(each[i], 0);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
        int rounds;
    } programs[] = {
        {"walked", walked, ROUNDS}, {"tree", tree, ROUNDS},           {"counted", counted, ROUNDS},
        {"wiped", wiped, ROUNDS},   {"wide", wide, ROUNDS},           {"hierarchy", hierarchy, ROUNDS},
        {"queue", queue, ROUNDS},   {"temporary", temporary, ROUNDS}, {"grown", grown, ROUNDS},
        {"pool", pool, ROUNDS},     {"threads", threads, 1}};
    twin = count > 2;
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; ++i)
        if (count > 1 && strcmp(words[1], programs[i].name) == 0) {
            for (int round = 0; round < programs[i].rounds; ++round) programs[i].run();
            say();
            return 0;
        }
    return 2;
}
