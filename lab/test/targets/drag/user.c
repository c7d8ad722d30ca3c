// Becomes another user as a server does, in the same program; then allocates more than a window of a
// recording holds, and forks a child that allocates too. Prints the objects of each.
//
//     user UID
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) {
        char *block = malloc((size_t)(i % 90) + 10);
        block[0] = (char)i;
        sum += block[0];
        free(block);
    }
    return sum & 1;
}

int main(int count, char **words) {
    int status = work(1000);
    if (setgid((gid_t)atoi(words[count - 1])) != 0 || setuid((uid_t)atoi(words[count - 1])) != 0) return 9;
    status |= work(300000);
    const pid_t child = fork();
    if (child == 0) _exit(work(40000) & 0);
    waitpid(child, &status, 0);
    return status;
}
