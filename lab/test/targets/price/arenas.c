/* Limits itself to one arena, and prints how many there are when two threads have allocated. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *run(void *argument) {
    free(malloc(3000));
    return argument;
}

int main(void) {
    pthread_t thread;
    int arenas = 0;
    if (mallopt(M_ARENA_MAX, 1) != 1) return 1;
    free(malloc(3000));
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    char *text;
    size_t size;
    FILE *const file = open_memstream(&text, &size);
    malloc_info(0, file);
    fclose(file);
    for (const char *at = text; (at = strstr(at, "<heap nr=")) != NULL; ++at) ++arenas;
    printf("%d\n", arenas);
    return 0;
}
