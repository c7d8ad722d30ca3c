/* A service whose callers come half as often again for a third of the time, give up waiting, and ask again.
 *
 *     retry-storm SECONDS WORKERS ALLOCATIONS RATE RETRIES
 *
 * A receiver takes each request when it is due: it makes half of the objects, of 16 to 512 bytes, and gives
 * them to one of the workers, which makes the other half and frees all of them. So workers free what is
 * another thread's, as those of a server do, and wait for the lock of its arena while it allocates.
 *
 * The loop is open: RATE callers a second come whether or not others were answered, 1.5 times as many in the
 * middle third. One that has no answer after 10 ms asks again, RETRIES times at most; what it asked before is
 * still served. Times are from when a caller came to its first answer. At the end one line on standard error:
 * of the surge {"requests": answered before they gave up, "seconds": ..., "p50_ns": ..., "p99_ns": ...,
 * "p999_ns": ..., and "before": answered a second before it, "before_p99_ns": ..., "retries": in all}.
 *
 * With a RATE of 0 the next comes as soon as a worker is free, which says how many there can be in a second.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_workers = 256, most_callers = 1 << 21, queue_size = 1 << 12, most_retries = 8 };
static const uint64_t patience = 10000000, nap = 100000;
static const double surge = 1.5;

struct caller {
    uint64_t due;
    _Atomic uint64_t answered;
};
struct attempt {
    uint32_t caller;
    char **block;
};

static struct caller caller[most_callers];
static struct attempt queue[queue_size];
static _Atomic uint64_t taken, sent;
static sem_t filled;
static atomic_int over;
static int half;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t when) {
    const struct timespec time = {(time_t)(when / 1000000000u), (long)(when % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static char **objects(void) {
    char **block = malloc((size_t)(half + 1) * sizeof *block);
    for (int i = 0; i < half; i++) {
        block[i] = malloc(16 + (size_t)(i * 37 % 497));
        *(volatile char *)block[i] = 1;
    }
    return block;
}

static void discard(char **block) {
    for (int i = 0; i < half; i++) free(block[i]);
    free(block);
}

static void *work(void *unused) {
    (void)unused;
    for (;;) {
        while (sem_wait(&filled) != 0) {
        }
        if (over) return NULL;
        const struct attempt next = queue[atomic_fetch_add(&taken, 1) % queue_size];
        char **answer = objects();
        discard(next.block);
        discard(answer);
        uint64_t never = 0;
        atomic_compare_exchange_strong(&caller[next.caller].answered, &never, now());
    }
}

/* What finds the queue full is refused, and its caller waits in vain. */
static void send(uint32_t from) {
    const uint64_t place = sent;
    if (place - taken >= queue_size - most_workers) return;
    queue[place % queue_size] = (struct attempt){from, objects()};
    sent = place + 1;
    sem_post(&filled);
}

/* Between 0 and 2, 1 on average; the same in every run. */
static double chance(void) {
    static uint64_t state = 2112;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / (double)(1ull << 52);
}

static uint32_t as_workers_are_free(uint64_t end, int workers) {
    uint32_t count = 0;
    while (now() < end && count < most_callers) {
        if (sent - taken >= (uint64_t)workers) {
            sched_yield();
            continue;
        }
        caller[count].due = now();
        send(count++);
    }
    sleep_until(end + patience);
    return count;
}

/* Callers come in the order in which their patience ends, so one place says for each retry how far they are.
 */
static uint32_t as_they_come(uint64_t begin, uint64_t end, double rate, int retries, uint64_t *asked_again) {
    const double third = (double)(end - begin) / 3;
    const uint64_t patient = (uint64_t)(retries + 1) * patience;
    double due = (double)begin;
    uint32_t count = 0, looked_at[most_retries] = {0};
    for (;;) {
        const int comes = due < (double)end && count < most_callers;
        uint64_t next = comes ? (uint64_t)due : UINT64_MAX;
        int retry = -1;
        for (int i = 0; i < retries; i++) {
            if (looked_at[i] == count) continue;
            const uint64_t until = caller[looked_at[i]].due + (uint64_t)(i + 1) * patience;
            if (until < next) next = until, retry = i;
        }
        if (next == UINT64_MAX) return count;
        const uint64_t time = now();
        if (next > time) {
            if (next > time + nap)
                sleep_until(next - nap / 2);
            else
                sched_yield();
            continue;
        }
        uint32_t who;
        if (retry >= 0) {
            who = looked_at[retry]++;
            if (caller[who].answered != 0) continue;
            ++*asked_again;
        } else {
            who = count++;
            caller[who].due = (uint64_t)due;
            const int surges = due - (double)begin >= third && due - (double)begin < 2 * third;
            due += chance() * 1e9 / (surges ? surge * rate : rate);
        }
        /* Of those that gave up meanwhile nothing is left but their number. */
        if (time < caller[who].due + patient) send(who);
    }
}

static int by_size(const void *one, const void *other) {
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* The times, in order, of callers that came in this part and were answered before they gave up. */
static size_t answered(uint32_t count, uint64_t from, uint64_t to, int retries, uint64_t *times) {
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t when = caller[i].answered;
        if (caller[i].due < from || caller[i].due >= to || when == 0) continue;
        const uint64_t took = when > caller[i].due ? when - caller[i].due : 1;
        if (took <= (uint64_t)(retries + 1) * patience) times[found++] = took;
    }
    qsort(times, found, sizeof *times, by_size);
    return found;
}

static double percentile(const uint64_t *times, size_t count, double share) {
    return count == 0 ? 0 : (double)times[(size_t)(share * (double)(count - 1))];
}

int main(int count, char **words) {
    if (count < 6) return 2;
    const double seconds = atof(words[1]), rate = atof(words[4]);
    const int workers = atoi(words[2]), retries = atoi(words[5]);
    half = atoi(words[3]) / 2;
    if (seconds <= 0 || workers < 1 || workers > most_workers || half < 1 || rate < 0 || retries < 0 ||
        retries > most_retries)
        return 2;
    pthread_t thread[most_workers];
    if (sem_init(&filled, 0, 0) != 0) return 3;
    for (int i = 0; i < workers; i++) {
        if (pthread_create(&thread[i], NULL, work, NULL) != 0) return 3;
    }
    const uint64_t begin = now(), length = (uint64_t)(seconds * 1e9), end = begin + length;
    uint64_t asked_again = 0;
    const int closed = rate == 0;
    const uint32_t came = closed ? as_workers_are_free(end, 2 * workers)
                                 : as_they_come(begin, end, rate, retries, &asked_again);
    over = 1;
    for (int i = 0; i < workers; i++) sem_post(&filled);
    for (int i = 0; i < workers; i++) pthread_join(thread[i], NULL);
    uint64_t *times = malloc((came + 1) * sizeof *times);
    const uint64_t from = closed ? begin : begin + length / 3, to = closed ? end : begin + length * 2 / 3;
    const size_t before = answered(came, begin, from, retries, times);
    const double before_p99 = percentile(times, before, 0.99);
    const size_t all = answered(came, from, to, retries, times);
    fprintf(stderr,
            "{\"requests\": %zu, \"seconds\": %.6f, \"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f, "
            "\"before\": %.1f, \"before_p99_ns\": %.0f, \"retries\": %llu}\n",
            all, (double)(to - from) / 1e9, percentile(times, all, 0.5), percentile(times, all, 0.99),
            percentile(times, all, 0.999), closed ? 0 : (double)before * 1e9 / (double)(from - begin),
            before_p99, (unsigned long long)asked_again);
    return 0;
}
