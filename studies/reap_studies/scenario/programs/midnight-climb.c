/* A day of a service: sessions, a report of 200 MB at midnight, and what stays of it.
 *
 *     midnight-climb SECONDS [trim] [traffic] [every N]
 *
 * Sessions of 8 MB live all the time. The report takes 100,000 blocks of 2 KB; while it is there one more
 * block of 2 KB is allocated, which stays (a cache's entry), and then the report is freed, but for one
 * block in N with `every N`. `trim` calls malloc_trim(0) then. For SECONDS the service idles; with `traffic`
 * it serves a hundred requests a second, each with a thousand blocks, more than thread caches serve.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { sessions = 4096, rows = 100000, size = 2032, per_request = 1000, tick = 10000 };

static char *session[sessions];
static char *row[rows];

static char *take(size_t bytes) {
    char *block = malloc(bytes);
    if (block == NULL) exit(3);
    memset(block, 1, bytes);
    return block;
}

static void serve(void) {
    char *blocks[per_request];
    for (int i = 0; i < per_request; i++) blocks[i] = take(32 + (size_t)(i * 37 % 4800));
    for (int i = 0; i < per_request; i++) free(blocks[i]);
}

int main(int count, char **words) {
    const double seconds = count > 1 ? atof(words[1]) : 2;
    int trim = 0;
    int traffic = 0;
    int every = 0;
    for (int i = 2; i < count; i++) {
        if (strcmp(words[i], "trim") == 0) trim = 1;
        if (strcmp(words[i], "traffic") == 0) traffic = 1;
        if (strcmp(words[i], "every") == 0 && i + 1 < count) every = atoi(words[++i]);
    }
    for (int i = 0; i < sessions; i++) session[i] = take(size);
    usleep(300000);
    for (int i = 0; i < rows; i++) row[i] = take(size);
    char *pin = take(size);
    usleep(300000);
    for (int i = 0; i < rows; i++) {
        if (every == 0 || i % every != 0) {
            free(row[i]);
            row[i] = NULL;
        }
    }
    if (trim) malloc_trim(0);
    for (long left = (long)(seconds * 1e6); left > 0; left -= tick) {
        if (traffic) serve();
        usleep(tick);
    }
    return pin[5] != 1; /* still there: what is freed at the very end is no part of the day */
}
