/* Whether libreap-malloc serves a program of musl's: its threads, its children, and what libc allocates. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <reap/interpose/mallctl.h>

static size_t allocated(void) {
    size_t bytes = 0;
    size_t size = sizeof bytes;
    if (reap_mallctl("stats.allocated", &bytes, &size, NULL, 0) != 0) exit(2);
    return bytes;
}

static void *work(void *argument) {
    char *objects[1000];
    for (size_t at = 0; at < 1000; ++at) {
        objects[at] = malloc(at + 1);
        if (objects[at] == NULL) exit(3);
        memset(objects[at], 1, at + 1);
    }
    for (size_t at = 0; at < 1000; at += 2) free(objects[at]);
    for (size_t at = 1; at < 1000; at += 2) free(realloc(objects[at], 3 * at));
    return argument;
}

int main(void) {
    const size_t before = allocated();
    char *const object = malloc(100000);
    char *const line = strdup("what libc allocates");
    if (object == NULL || line == NULL || allocated() < before + 100000) return 1;
    pthread_t threads[4];
    for (size_t at = 0; at < 4; ++at)
        if (pthread_create(&threads[at], NULL, work, NULL) != 0) return 4;
    const pid_t child = fork(); /* beside threads that allocate */
    if (child == 0) {
        work(NULL);
        _exit(0);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) return 5;
    for (size_t at = 0; at < 4; ++at) pthread_join(threads[at], NULL);
    free(object);
    free(line);
    puts("served");
    return 0;
}
