/* A program that loads two libraries in turn, each at the address of the other.
 *
 *     reloaded ONE OTHER
 *
 * With LIBRARY defined it is such a library: its only function, of that name, allocates.
 */
#include <dlfcn.h>
#include <stdlib.h>

#ifdef LIBRARY
char *LIBRARY(long size) {
    char *volatile block = malloc(size); /* no tail call */
    return block;
}
#else
int main(int argc, char **argv) {
    static const char *const names[] = {"first", "other"};
    static char *blocks[500];
    if (argc != 3) return 1;
    for (int round = 0; round < 20; ++round) {
        void *library = dlopen(argv[1 + round % 2], RTLD_NOW);
        if (!library) return 2;
        char *(*make)(long) = (char *(*)(long))dlsym(library, names[round % 2]);
        for (int i = 0; i < 6000; ++i) {
            free(blocks[i % 500]);
            blocks[i % 500] = make(200);
            blocks[i % 500][0] = 1;
        }
        dlclose(library);
    }
    return 0;
}
#endif
