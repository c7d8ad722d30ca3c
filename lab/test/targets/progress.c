/* Threads that allocate and free without end, and count both in a file that outlives them.
 *
 *     progress FILE THREADS
 *
 * The file has two numbers of 64 bits for each thread: blocks allocated and freed, each counted after the call. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t *counts;

static void *work(void *number) {
    volatile uint64_t *own = counts + 2 * (uintptr_t)number;
    for (;;) {
        void *block = malloc(2000 + own[0] % 100);
        own[0]++;
        free(block);
        own[1]++;
    }
    return NULL;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    uintptr_t threads = (uintptr_t)atoi(words[2]);
    int file = open(words[1], O_RDWR);
    counts = mmap(NULL, 16 * threads, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counts == MAP_FAILED) return 1;
    for (uintptr_t i = 1; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)i);
    }
    work(0);
}
