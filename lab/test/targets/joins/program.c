// Opens the library that its argument names, and closes it. Has no C++ runtime before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>

// The C library itself opens the unwinder for the first thread that is cancelled or exits, and what it asks
// for groups.
static void *cancelled(void *unused) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return unused;
}

int main(int count, char **words) {
    pthread_t thread;
    gid_t groups[1];
    int most = 1;
    getgrouplist("nobody at all", 0, groups, &most);
    if (count > 1 && pthread_create(&thread, 0, cancelled, 0) == 0) pthread_join(thread, 0);
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : 0;
    if (count > 1 && !library) fprintf(stderr, "%s\n", dlerror());
    if (library) dlclose(library);
    return count > 1 && !library;
}
