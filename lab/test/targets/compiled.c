/* Compiles code at run time that calls malloc, and writes /tmp/perf-PID.map about it, as agents of
 * just-in-time compilers do. With an argument, about nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void *(*allocate)(size_t);

/* sub rsp, 8; mov rax, malloc; call rax; add rsp, 8; ret */
static unsigned char *put(unsigned char *at) {
    const unsigned char begin[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0xb8};
    const unsigned char end[] = {0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    void *target = (void *)malloc;
    memcpy(at, begin, sizeof begin);
    memcpy(at + sizeof begin, &target, sizeof target);
    memcpy(at + sizeof begin + sizeof target, end, sizeof end);
    return at;
}

int main(int count, char **words) {
    (void)words;
    unsigned char *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 1;
    free(((allocate)(void *)put(code))(1001));
    free(((allocate)(void *)put(code + 64))(1002));
    if (count > 1) return 0;
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    if (map == NULL) return 1;
    fprintf(map, "%lx 40 stale\n", (unsigned long)code);
    fprintf(map, "%lx 40 first(int, long)\n", (unsigned long)code);
    fprintf(map, "nonsense\n%lx 40 JS:*second /srv/shop.js:12:7\n", (unsigned long)code + 64);
    fclose(map);
    return 0;
}
