/* More large objects than a process may have mappings (vm.max_map_count) leave room for a thread's stack, and
 * their memory and address space come back. A page of each is touched. */
#include "bugs.h"

#include <pthread.h>

enum { count = 70000, size = 300000 };

static char *objects[count];

static void *nothing(void *argument) { return argument; }

static void allocate_all(void) {
    for (size_t at = 0; at < count; ++at) {
        objects[at] = malloc(size);
        if (objects[at] == NULL) {
            printf("object %zu: no memory\n", at);
            exit(1);
        }
        objects[at][size / 2] = 1;
    }
}

int main(void) {
    const size_t before = status_kb("VmSize");
    allocate_all();
    pthread_t thread;
    expect(pthread_create(&thread, NULL, nothing, NULL) == 0, "a thread starts beside them");
    expect(pthread_join(thread, NULL) == 0, "and ends");
    for (size_t at = 0; at < count; ++at) free(objects[at * 7919 % count]);
    malloc_trim(0);
    expect(status_kb("VmRSS") < 64UL * 1024, "their memory goes back");
    expect(status_kb("VmSize") < before + 512UL * 1024, "so does their address space");
    return failures;
}
