// Limited by something other than the allocator.
#include "cause.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, FIELDS = 2000 };

// A document of objects with a name and a number each. Not static: a profile shall show the functions' names.
static char *document(void) {
    char *text = malloc(FIELDS * 40 + 2), *end = text;
    uint64_t state = 1;
    *end++ = '[';
    for (int at = 0; at < FIELDS; at++)
        end += sprintf(end, "{\"name\":\"n%lu\",\"v\":%lu},", next_number(&state) % 100000,
                       next_number(&state) % 1000000);
    strcpy(end - 1, "]");
    return text;
}

__attribute__((noinline)) const char *parse_string(const char *at, uint64_t *sum) {
    while (*++at != '"') *sum = *sum * 31 + (unsigned char)*at;
    return at + 1;
}

__attribute__((noinline)) const char *parse_number(const char *at, uint64_t *sum) {
    uint64_t number = 0;
    while (*at >= '0' && *at <= '9') number = number * 10 + (uint64_t)(*at++ - '0');
    *sum += number;
    return at;
}

__attribute__((noinline)) uint64_t parse_document(const char *at) {
    uint64_t sum = 0;
    while (*at != 0) {
        if (*at == '"')
            at = parse_string(at, &sum);
        else if (*at >= '0' && *at <= '9')
            at = parse_number(at, &sum);
        else
            at++;
    }
    return sum;
}

// A parser that sees every byte and makes nothing of it. Cured, it reads once, and computes with that.
void cause_parse(double scale) {
    char *text = document();
    uint64_t sum = cured ? parse_document(text) : 0;
    for (long turn = (long)(27000 * scale); turn > 0; turn--)
        sum += cured ? compute(40000, sum) : parse_document(text);
    printf("%lu\n", sum);
    free(text);
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static uint64_t guarded = 1;

static void *take_turns(void *scale) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, *lock = cured ? &own : &guard;
    uint64_t number = 1, *state = cured ? &number : &guarded;
    for (long turn = (long)(30000 * *(double *)scale); turn > 0; turn--) {
        pthread_mutex_lock(lock);
        *state = compute(10000, *state);
        pthread_mutex_unlock(lock);
    }
    return (void *)*state;
}

// Threads that do all their work under one mutex of the program.
void cause_lock(double scale) {
    pthread_t threads[THREADS];
    for (int at = 0; at < THREADS; at++) pthread_create(&threads[at], NULL, take_turns, &scale);
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    printf("%lu\n", guarded);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// A journal: each entry is on the disk before the next is written. The file is in the folder it runs in. For
// a time, since one disk takes a thousand times as long as another. Cured, it computes for as long.
void cause_disk(double scale) {
    char name[] = "cause-XXXXXX", entry[4096];
    const int file = mkstemp(name);
    unlink(name);
    memset(entry, 'x', sizeof entry);
    const double end = seconds() + 4 * scale;
    int failed = 0;
    uint64_t state = 1;
    while (cured && seconds() < end) state = compute(100000, state);
    for (off_t at = 0; seconds() < end && !failed; at += (off_t)sizeof entry)
        failed = pwrite(file, entry, sizeof entry, at) < 0 || fsync(file) < 0;
    printf("%d %d\n", failed, state == 0);
    close(file);
}

static int listen_here(struct sockaddr_in *address) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof *address;
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)address, length) != 0 || listen(listener, 1) != 0) exit(3);
    getsockname(listener, (struct sockaddr *)address, &length);
    return listener;
}

// Asks a slow server on this machine, its own child, and waits for each answer. Cured, it knows the answers.
void cause_network(double scale) {
    struct sockaddr_in address = {0};
    const int listener = listen_here(&address), one = 1;
    char question = 0;
    if (fork() == 0) {
        const struct timespec pause = {0, 2000000};
        const int peer = accept(listener, NULL, NULL);
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        while (read(peer, &question, 1) == 1) {
            nanosleep(&pause, NULL);
            if (write(peer, &question, 1) != 1) break;
        }
        _exit(0);
    }
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) exit(3);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    unsigned long answers = 0;
    for (long turn = (long)(500 * scale); turn > 0; turn--) {
        if (cured) {
            answers += compute(2000000, 1) != 0;
            continue;
        }
        if (write(client, &question, 1) != 1 || read(client, &question, 1) != 1) break;
        answers++;
    }
    printf("%lu\n", answers);
    close(client);
    wait(NULL);
}

// Work that needs neither memory nor other processes.
void cause_nothing(double scale) { printf("%lu\n", compute((uint64_t)(1.5e9 * scale), 1)); }
