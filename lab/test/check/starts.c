// Starts another program in the way that the first argument says, or leaks: see test_starts.py.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

static int leak(void) {
    for (int i = 0; i < 3000; i++) *(volatile char *)malloc(100000) = 1;
    return 0;
}

static int ended(pid_t child) {
    int status = 1;
    waitpid(child, &status, 0);
    return status != 0;
}

// The program as a file without a name.
static int memory_file(const char *program) {
    struct stat status;
    int from = open(program, O_RDONLY);
    int to = memfd_create("program", MFD_CLOEXEC);
    if (fstat(from, &status) != 0 || sendfile(to, from, NULL, status.st_size) != status.st_size) _exit(9);
    return to;
}

static pid_t spawned(char *const *argv, char *const *environment) {
    pid_t child = -1;
    return posix_spawn(&child, argv[0], NULL, NULL, argv, environment) == 0 ? child : -1;
}

int main(int argc, char **argv) {
    char *none[] = {NULL};
    const char *way = argv[1];
    char **words = argv + 2;
    if (strcmp(way, "leak") == 0) return leak();
    if (argc < 4) return 2;
    char command[8192];
    snprintf(command, sizeof command, "%s %s", words[0], words[1]);
    if (strcmp(way, "execve") == 0) return execve(words[0], words, none);
    if (strcmp(way, "null") == 0) return execve(words[0], words, NULL);
    if (strcmp(way, "spawn") == 0) return ended(spawned(words, none));
    if (strcmp(way, "memory") == 0) return fexecve(memory_file(words[0]), words, none);
    if (strcmp(way, "raw") == 0) return (int)syscall(SYS_execve, words[0], words, none);
    if (strcmp(way, "clone") == 0) {
        const long child = syscall(SYS_fork);
        if (child == 0) _exit((int)syscall(SYS_execve, words[0], words, none));
        return ended((pid_t)child);
    }
    if (strcmp(way, "vfork") == 0) {
        const pid_t child = vfork();
        if (child == 0) {
            execve(words[0], words, none);
            _exit(9);
        }
        return ended(child);
    }
    if (strcmp(way, "daemon") == 0) {
        if (fork() != 0) return 0;
        setsid();
        if (fork() != 0) return 0;
        return execve(words[0], words, none);
    }
    unsetenv("LD_PRELOAD");
    if (strcmp(way, "system") == 0) return system(command);
    if (strcmp(way, "popen") == 0) return pclose(popen(command, "r"));
    if (strcmp(way, "wordexp") == 0) {
        char text[8300];
        wordexp_t found;
        snprintf(text, sizeof text, "$(%s)", command);
        return wordexp(text, &found, 0);
    }
    return 2;
}
