/* Programs of which one cost of allocation is known: patterns KIND SCALE. Each prints a sum that no malloc
 * changes. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    long value;
};

static long scale;

/* More free blocks of a size than a thread cache of glibc keeps. */
static long batches(void) {
    static char *held[300];
    long sum = 0;
    for (long i = 0; i < 400 * scale; ++i) {
        for (int k = 0; k < 300; ++k) {
            held[k] = malloc(200);
            held[k][0] = (char)i;
            sum += held[k][0];
        }
        for (int k = 0; k < 300; ++k) free(held[k]);
    }
    return sum;
}

/* A list whose nodes lie far from each other, between blocks that are freed. */
static long scattered(void) {
    enum { NODES = 60000, BETWEEN = 4 };
    static void *between[NODES * BETWEEN];
    struct node *head = NULL;
    unsigned random = 1;
    long sum = 0;
    for (long i = 0; i < NODES; ++i) {
        struct node *const node = malloc(sizeof *node);
        *node = (struct node){head, i};
        head = node;
        for (int k = 0; k < BETWEEN; ++k) {
            random = random * 1103515245 + 12345;
            between[i * BETWEEN + k] = malloc(100 + (random >> 16) % 400);
        }
    }
    for (long i = 0; i < NODES * BETWEEN; ++i) free(between[i]);
    for (long i = 0; i < 20 * scale; ++i) {
        for (struct node *node = head; node != NULL; node = node->next) sum += node->value;
    }
    return sum;
}

static void *one_of_four(void *sum) {
    void *held[100];
    for (long i = 0; i < 100 * scale; ++i) {
        for (int k = 0; k < 100; ++k) held[k] = memset(malloc(2000), 1, 16);
        for (int k = 0; k < 100; ++k) free(held[k]);
        ++*(long *)sum;
    }
    return NULL;
}

/* Threads in one arena, which the program itself asked for. */
static long locked(void) {
    pthread_t threads[4];
    long sums[4] = {0};
    mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, one_of_four, &sums[i]);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    return sums[0] + sums[1] + sums[2] + sums[3];
}

static long computes(void) {
    long sum = 0;
    for (long i = 0; i < 20000000 * scale; ++i) sum += i ^ (sum >> 3);
    return sum;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    scale = atol(words[2]);
    const char *const kind = words[1];
    const long sum = strcmp(kind, "batches") == 0     ? batches()
                     : strcmp(kind, "scattered") == 0 ? scattered()
                     : strcmp(kind, "locked") == 0    ? locked()
                                                      : computes();
    printf("%ld\n", sum);
    return 0;
}
