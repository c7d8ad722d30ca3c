/* A service with a working set of 8 MB and a burst of 60 MB, which it frees.
 *
 *     lying-rss SECONDS
 *
 * Behind the burst it serves a hundred requests a second for SECONDS, each with a thousand blocks: an
 * allocator that gives memory back while it is called has its calls, more than its thread caches serve.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { set = 2048, burst = 960, per_request = 1000, tick = 10000 };

static char *take(size_t bytes) {
    char *block = malloc(bytes);
    if (block == NULL) exit(3);
    memset(block, 1, bytes);
    return block;
}

int main(int count, char **words) {
    static char *live[set];
    static char *blocks[burst];
    const double seconds = count > 1 ? atof(words[1]) : 2;
    for (int i = 0; i < set; i++) live[i] = take(4096);
    usleep(300000);
    for (int i = 0; i < burst; i++) blocks[i] = take(65536);
    usleep(300000);
    for (int i = 0; i < burst; i++) free(blocks[i]);
    for (long left = (long)(seconds * 1e6); left > 0; left -= tick) {
        char *request[per_request];
        for (int i = 0; i < per_request; i++) request[i] = take(32 + (size_t)(i * 37 % 4800));
        for (int i = 0; i < per_request; i++) free(request[i]);
        usleep(tick);
    }
    return live[7][5] != 1;
}
