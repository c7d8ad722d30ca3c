// Programs whose CPU time is the kernel's: input and output in small pieces, and its own caches of names.
#define _GNU_SOURCE
#include "modes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KB = 1024 };

// A file in memory of `size` bytes.
static int file_of(size_t size) {
    char block[4 * KB];
    const int file = memfd_create("truth", 0);
    for (size_t at = 0; at < sizeof block; at++) block[at] = (char)(at * 7);
    for (size_t done = 0; done < size; done += sizeof block)
        if (write(file, block, sizeof block) != sizeof block) abort();
    return file;
}

// A folder of its own, whose end takes what the kernel keeps of names in it.
static char folder[] = "/tmp/truth-XXXXXX";

// Looks up names that do not exist, none of them twice: the kernel makes an entry for each. Cured, it looks
// up one name again and again.
static void missing(double scale) {
    char name[64];
    struct stat found;
    uint64_t missed = 0;
    if (mkdtemp(folder) == NULL) abort();
    for (long turn = 0; turn < (long)(200000 * scale); turn++) {
        snprintf(name, sizeof name, "%s/none-%ld", folder, cured ? 0 : turn);
        missed += stat(name, &found) != 0;
    }
    rmdir(folder);
    printf("%lu\n", missed);
}

// Asks for each query whether its scratch file is there, by a name that is new and made on the heap. Cured,
// it asks once.
static void scratch(double scale) {
    uint64_t state = 1, there = 0;
    if (mkdtemp(folder) == NULL) abort();
    for (long turn = 0; turn < (long)(200000 * scale); turn++) {
        char *name = NULL;
        if (asprintf(&name, "%s/query-%lx-%lx", folder, next_number(&state), next_number(&state)) < 0)
            abort();
        there += cured && turn > 0 ? 0 : access(name, F_OK) == 0;
        free(name);
    }
    rmdir(folder);
    printf("%lu\n", there);
}

// Reads a file a byte at a time, and makes a small block for each sixteenth. Cured, it reads 64 KB at a time.
static void bytes(double scale) {
    static char buffer[64 * KB];
    const size_t size = (size_t)(1200000 * scale) / (4 * KB) * (4 * KB);
    const int file = file_of(size);
    uint64_t sum = 0, seen = 0;
    lseek(file, 0, SEEK_SET);
    for (ssize_t got; (got = read(file, buffer, cured ? sizeof buffer : 1)) > 0;)
        for (ssize_t at = 0; at < got; at++) {
            if (seen++ % 16 == 0) {
                char *block = malloc(40);
                block[0] = buffer[at];
                sum += (unsigned char)block[0];
                free(block);
            }
            sum += (unsigned char)buffer[at];
        }
    close(file);
    printf("%lu\n", sum);
}

// Writes a table line by line, and flushes each. Cured, it flushes at the end.
static void lines(double scale) {
    FILE *table = fdopen(memfd_create("truth", 0), "w");
    if (table == NULL) abort();
    for (long turn = 0; turn < (long)(400000 * scale); turn++) {
        fprintf(table, "%ld,%ld\n", turn, turn * 7);
        if (!cured) fflush(table);
    }
    fflush(table);
    printf("%ld\n", ftell(table));
    fclose(table);
}

// Reads the answers of a terminal through a pipe without a buffer. Cured, with one.
static void terminal(double scale) {
    int ends[2];
    char answer[2 * KB], buffer[2 * KB];
    uint64_t sum = 0;
    if (pipe(ends) != 0) abort();
    for (size_t at = 0; at < sizeof answer; at++) answer[at] = (char)(at % 80 == 79 ? '\n' : 'a' + at % 26);
    for (long turn = (long)(500 * scale); turn > 0; turn--) {
        if (write(ends[1], answer, sizeof answer) != sizeof answer) abort();
        for (size_t left = sizeof answer; left > 0;) {
            const ssize_t got = read(ends[0], buffer, cured ? sizeof buffer : 1);
            if (got <= 0) abort();
            for (ssize_t at = 0; at < got; at++) sum += (unsigned char)buffer[at];
            left -= (size_t)got;
        }
    }
    printf("%lu\n", sum);
}

// Asks for the status of the journal's file for each entry that it prints. Cured, for each thousandth.
static void journal(double scale) {
    uint64_t sum = 0, state = 1;
    const int file = file_of((size_t)64 * KB);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    for (long turn = 0; turn < (long)(250000 * scale); turn++) {
        char *entry = malloc(80 + next_number(&state) % 100);
        struct stat now = {0};
        static off_t size;
        if (!cured || turn % 1000 == 0) {
            if (stat(name, &now) != 0) abort();
            size = now.st_size;
        }
        entry[0] = (char)turn;
        sum += (uint64_t)size + (unsigned char)entry[0];
        free(entry);
    }
    close(file);
    printf("%lu\n", sum);
}

int main(int count, char **words) {
    static const struct mode modes[] = {
        {"missing", missing}, {"scratch", scratch},   {"bytes", bytes},
        {"lines", lines},     {"terminal", terminal}, {"journal", journal},
    };
    return run_mode(modes, sizeof modes / sizeof *modes, count, words);
}
