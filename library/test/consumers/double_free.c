/* A program in C with libreap in hardened mode: a double free is reported, and nothing is done. */

#include <reap/face/c.h>

static int reports;

static void count(reap_misuse what, const void *address, size_t size, const char *layer) {
    (void)address;
    (void)size;
    (void)layer;
    reports += what == REAP_MISUSE_DOUBLE_FREE;
}

int main(void) {
    reap_set_misuse_handler(count);
    reap_reap *const reap = reap_reap_create(NULL);
    void *const object = reap_reap_allocate(reap, 40);
    reap_reap_deallocate(reap, object);
    reap_reap_deallocate(reap, object);
    reap_reap_destroy(reap);
    return reports == 1 ? 0 : 1;
}
