// Memory of two allocators at once, which stays until standard input ends: 16 MB of malloc's, and of another
// allocator's 64 MB in blocks of 2 KB.
//
//     holds LIBRARY ALLOCATE FREE [WHAT]   the other's functions, of a library that is loaded while it runs
//     holds - - - [WHAT]                   je_malloc and je_free, where it is compiled with HOLDS_PREFIXED
//
// WHAT: nothing keeps all blocks; `frees` frees them all; `reopens` loads and unloads the library 100 times
// with blocks allocated and freed in between; `forks` forks 100 times, and each child allocates; `huge`
// writes to a byte of each 2 MiB of 64 MiB that are advised to be huge pages, and uses no library.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { size = 2032, most = 32768 };
static void *blocks[most];
static void *(*allocate)(size_t);
static void (*release)(void *);

#ifdef HOLDS_PREFIXED
void *je_malloc(size_t);
void je_free(void *);
#endif

static void take(int count) {
    for (int i = 0; i < count; i++) memset(blocks[i] = allocate(size), 1, size);
}

static void give(int count) {
    for (int i = 0; i < count; i++) release(blocks[i]);
}

static void *load(char **words) {
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(9);
    }
    allocate = (void *(*)(size_t))dlsym(library, words[2]);
    release = (void (*)(void *))dlsym(library, words[3]);
    return library;
}

static void forks(void) {
    for (int i = 0; i < 100; i++) {
        const pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 200; j++) release(allocate(1000 + (size_t)j * 500));
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) exit(9);
        usleep(2000);
    }
    puts("forked");
    exit(0);
}

static void wait_for_input(void) {
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
}

int main(int count, char **words) {
    const char *what = count > 4 ? words[4] : "";
    const size_t huge = (size_t)2 << 20;
    char *own = malloc(16 << 20);
    memset(own, 1, 16 << 20);
    if (!strcmp(what, "huge")) {
        char *area = aligned_alloc(huge, 32 * huge);
        madvise(area, 32 * huge, MADV_HUGEPAGE);
        for (size_t at = 0; at < 32; at++) area[at * huge] = 1;
        wait_for_input();
        return area[0] != 1;
    }
#ifdef HOLDS_PREFIXED
    allocate = je_malloc;
    release = je_free;
#else
    if (!strcmp(what, "reopens")) {
        for (int i = 0; i < 100; i++) {
            void *library = load(words);
            take(4096);
            give(4096);
            dlclose(library);
        }
        puts("reopened");
        return 0;
    }
    load(words);
#endif
    take(most);
    if (!strcmp(what, "forks")) forks();
    if (!strcmp(what, "frees")) give(most);
    wait_for_input();
    return own[0] != 1;
}
