/* What bc's files are compiled with in front (-include), none of them changed: its memory is a pool's, its
 * files are strings, and its exit is the end of a request. */
#pragma once

#include <apr_pools.h>
#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Memory. */
void *bc_allocate(size_t size);
void bc_free(void *object);
char *bc_duplicate(const char *text);
#define malloc(size) bc_allocate(size)
#define free(object) bc_free(object)
#define strdup(text) bc_duplicate(text)
/* Of its scanner, for a word of more than 8 KB, which it then refuses. */
#define realloc(object, size) NULL

/* All else that a module must not do. */
extern FILE *bc_input, *bc_output;
void bc_leave(int status) __attribute__((noreturn));
int bc_isatty(int file);
ssize_t bc_read(int file, void *room, size_t size);
#undef stdin
#undef stdout
#undef stderr
#undef getchar
#undef putchar
#define stdin bc_input
#define stdout bc_output
#define stderr bc_output
#define read(file, room, size) bc_read(file, room, size)
#define getchar() getc(bc_input)
#define printf(...) fprintf(bc_output, __VA_ARGS__)
#define putchar(character) putc(character, bc_output)
#define exit(status) bc_leave(status)
#define isatty(file) bc_isatty(file)
#define main bc_main
