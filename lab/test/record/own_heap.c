/* An allocator with names of its own in a library, as jemalloc is built into some, and a caller of it. */
const char said[] = "<jemalloc>: Error";
static char heap[1 << 16];
static unsigned long used;
int usleep(unsigned microseconds);

__attribute__((noinline)) void *je_arrow_mallocx(unsigned long size, int flags) {
    used = (used + size) % (1 << 15);
    return heap + used + flags;
}
__attribute__((noinline)) void je_arrow_dallocx(void *block, int flags) { *(char *)block = (char)flags; }
__attribute__((noinline)) char *keep(void) { return (char *)je_arrow_mallocx(24, 0) + 1; }

__attribute__((visibility("default"))) const char *work(int rounds) {
    for (int i = 0; i < rounds; i++) {
        je_arrow_dallocx(keep(), 0);
        usleep(200);
    }
    return said;
}
