#ifndef BUGS_H
#define BUGS_H

/* What the reproductions share. A program says what does not hold, and ends with how much that is. */

#include <malloc.h>

#if !defined(__GLIBC__) /* musl has none of its own */
int malloc_trim(size_t pad);
#endif
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static inline void expect(bool holds, const char *what) {
    if (holds) return;
    ++failures;
    printf("does not hold: %s\n", what);
}

/* A figure of /proc/self/status, in KB. Takes no memory from malloc, which it is to measure. */
static inline size_t status_kb(const char *name) {
    static char buffer[4096];
    FILE *const file = fopen("/proc/self/status", "r");
    if (file == NULL) exit(2);
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
    char line[200];
    unsigned long found = 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) found = strtoul(line + strlen(name) + 1, NULL, 10);
    fclose(file);
    return found;
}

#endif
