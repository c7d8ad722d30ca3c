/* Works in the library that its first argument names, or in the one that it is linked to, and waits so many
   microseconds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *work(int rounds) __attribute__((weak));

int main(int count, char **words) {
    const char *(*call)(int) = work;
    if (call == NULL) call = (const char *(*)(int))dlsym(dlopen(words[1], RTLD_NOW), "work");
    printf("%s\n", call(atoi(words[2])));
    if (count > 3) usleep((unsigned)atoi(words[3]));
    return count;
}
