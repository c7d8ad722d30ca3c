// What looks as if glibc's thread caches were too small, and the one program of which it is true.
#define _GNU_SOURCE
#include "modes.h"

#include <pthread.h>
#include <semaphore.h>

enum { KB = 1024, MB = 1024 * 1024 };

static void *nothing_to_do(void *unused) { return unused; }

// From then on the C library takes its locks.
static void become_threaded(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing_to_do, NULL) == 0) pthread_join(thread, NULL);
}

// A hundred blocks of one size for each request, freed together: a thread's cache holds seven. Cured, five at
// a time.
static void batches(double scale) {
    enum { BLOCKS = 100 };
    char *blocks[BLOCKS];
    uint64_t sum = 0;
    become_threaded();
    const int count = cured ? 5 : BLOCKS;
    for (long turn = (long)(200000 * scale); turn > 0; turn--)
        for (int made = 0; made < BLOCKS; made += count) {
            for (int at = 0; at < count; at++) {
                blocks[at] = malloc(200);
                blocks[at][0] = (char)(made + at);
                sum += (uint64_t)blocks[at][0];
            }
            for (int at = 0; at < count; at++) free(blocks[at]);
        }
    printf("%lu\n", sum);
}

// The rows of an image, each aligned to a cache line. Cured, one buffer for all of them.
static void rows(double scale) {
    enum { ROWS = 24, LARGEST = 2 * KB };
    char *row[ROWS];
    uint64_t state = 1, sum = 0;
    char *image = aligned_alloc(64, (size_t)ROWS * LARGEST);
    for (long turn = (long)(150000 * scale); turn > 0; turn--) {
        for (int at = 0; at < ROWS; at++) {
            const size_t size = 64 * (8 + next_number(&state) % 24);
            if (cured)
                row[at] = image + (size_t)at * LARGEST;
            else if (posix_memalign((void **)&row[at], 64, size) != 0)
                abort();
            memset(row[at], at, 64);
        }
        for (int at = 0; at < ROWS; at++) {
            sum += (uint64_t)row[at][63];
            if (!cured) free(row[at]);
        }
    }
    free(image);
    printf("%lu\n", sum);
}

// Four aligned vectors for each step of a simulation, which live only for it: fewer than a thread's cache
// would hold. Cured, they live as long as the simulation.
static void vectors(double scale) {
    enum { VECTORS = 4, LARGEST = 20 };
    double *vector[VECTORS];
    uint64_t state = 1;
    double sum = 0;
    for (int at = 0; at < VECTORS; at++) vector[at] = cured ? aligned_alloc(32, LARGEST * 32) : NULL;
    for (long turn = (long)(1500000 * scale); turn > 0; turn--) {
        for (int at = 0; at < VECTORS; at++) {
            const size_t quads = 4 + next_number(&state) % (LARGEST - 4);
            if (!cured) vector[at] = aligned_alloc(32, quads * 32);
            for (size_t each = 0; each < 8; each++) vector[at][each] = (double)(each + (size_t)at);
        }
        for (int at = 0; at < VECTORS; at++) {
            sum += vector[at][7];
            if (!cured) free(vector[at]);
        }
    }
    printf("%.0f\n", sum);
}

// Messages that one thread decodes and another handles and frees. Cured, it hands the blocks back with the
// batch that they came in, and they are used again.
enum { IN_FLIGHT = 8, MESSAGES = 256 };
static struct {
    sem_t empty, full;
    long turns;
    char *message[IN_FLIGHT][MESSAGES];
} channel;

static void *handle(void *unused) {
    uint64_t sum = 0;
    for (long turn = 0; turn < channel.turns; turn++) {
        while (sem_wait(&channel.full) != 0) {
        }
        char **batch = channel.message[turn % IN_FLIGHT];
        for (int at = 0; at < MESSAGES; at++) {
            sum += (uint64_t)batch[at][15];
            if (!cured) free(batch[at]);
        }
        sem_post(&channel.empty);
    }
    (void)unused;
    return (void *)sum;
}

static void handoff(double scale) {
    channel.turns = (long)(9000 * scale);
    sem_init(&channel.empty, 0, IN_FLIGHT);
    sem_init(&channel.full, 0, 0);
    for (int at = 0; cured && at < IN_FLIGHT * MESSAGES; at++)
        channel.message[at / MESSAGES][at % MESSAGES] = malloc(600);
    pthread_t handler;
    pthread_create(&handler, NULL, handle, NULL);
    uint64_t state = 1;
    for (long turn = 0; turn < channel.turns; turn++) {
        while (sem_wait(&channel.empty) != 0) {
        }
        char **batch = channel.message[turn % IN_FLIGHT];
        for (int at = 0; at < MESSAGES; at++) {
            const size_t size = 100 + next_number(&state) % 500;
            if (!cured) batch[at] = malloc(size);
            memset(batch[at], at, 16);
        }
        sem_post(&channel.full);
    }
    void *sum = NULL;
    pthread_join(handler, &sum);
    printf("%lu\n", (uint64_t)sum);
}

// Eight buffers that are filled in turn, 48 bytes at a time; each is copied to one that is larger by just
// that. Cured, to one of twice its size.
static void append(double scale) {
    enum { BUFFERS = 8, PIECE = 48, PIECES = 400 };
    uint64_t sum = 0;
    for (long turn = (long)(600 * scale); turn > 0; turn--) {
        struct {
            char *data;
            size_t used, room;
        } buffer[BUFFERS] = {{0}};
        for (int piece = 0; piece < PIECES; piece++)
            for (int at = 0; at < BUFFERS; at++) {
                if (buffer[at].used + PIECE > buffer[at].room) {
                    buffer[at].room = cured ? 2 * buffer[at].room + PIECE : buffer[at].used + PIECE;
                    char *larger = malloc(buffer[at].room);
                    if (buffer[at].used > 0) memcpy(larger, buffer[at].data, buffer[at].used);
                    free(buffer[at].data);
                    buffer[at].data = larger;
                }
                memset(buffer[at].data + buffer[at].used, piece & 63, PIECE);
                buffer[at].used += PIECE;
            }
        for (int at = 0; at < BUFFERS; at++) {
            sum += (uint64_t)buffer[at].data[PIECE * (PIECES - 1)] + buffer[at].used;
            free(buffer[at].data);
        }
    }
    printf("%lu\n", sum);
}

// The same by realloc, of buffers that are too large for its caches and lie beside each other. Cured, each
// has the room from the start.
static void enlarge(double scale) {
    enum { BUFFERS = 6, PIECE = 4 * KB, PIECES = 24 };
    uint64_t sum = 0;
    for (long turn = (long)(800 * scale); turn > 0; turn--) {
        char *buffer[BUFFERS] = {NULL}, *record[BUFFERS * PIECES];
        for (int piece = 0; piece < PIECES; piece++)
            for (int at = 0; at < BUFFERS; at++) {
                if (piece == 0 || !cured)
                    buffer[at] = realloc(buffer[at], (size_t)PIECE * (size_t)(cured ? PIECES : piece + 1));
                buffer[at][piece * PIECE] = (char)piece;
                record[piece * BUFFERS + at] = malloc(1200);
                record[piece * BUFFERS + at][0] = (char)at;
            }
        for (int at = 0; at < BUFFERS * PIECES; at++) {
            sum += (uint64_t)record[at][0];
            free(record[at]);
        }
        for (int at = 0; at < BUFFERS; at++) {
            sum += (uint64_t)buffer[at][PIECE * (PIECES - 1)];
            free(buffer[at]);
        }
    }
    printf("%lu\n", sum);
}

// Objects of several sizes among many that live, replaced in no order: each call finds its block in no cache
// of the processor. Cured, a place for the largest is used again.
static void cold(double scale) {
    enum { OBJECTS = 150000, LARGEST = 512 };
    char **object = malloc(OBJECTS * sizeof *object);
    uint64_t state = 1, sum = 0;
    for (int at = 0; at < OBJECTS; at++) {
        object[at] = malloc(cured ? LARGEST : 64 + next_number(&state) % (LARGEST - 64));
        object[at][0] = 1;
    }
    state = 2;
    for (long turn = (long)(2500000 * scale); turn > 0; turn--) {
        const size_t at = next_number(&state) % OBJECTS;
        const size_t size = 64 + next_number(&state) % (LARGEST - 64);
        sum += (uint64_t)object[at][0];
        if (!cured) {
            free(object[at]);
            object[at] = malloc(size);
        }
        object[at][0] = (char)(turn & 63);
    }
    printf("%lu\n", sum);
    for (int at = 0; at < OBJECTS; at++) free(object[at]);
    free(object);
}

// Buffers of 33 to 36 MB, larger than any that glibc keeps, of which one page in four is used. Cured, they
// are kept.
static void oversized(double scale) {
    char *kept[4] = {NULL};
    uint64_t sum = 0;
    for (long turn = 0; turn < (long)(150 * scale); turn++) {
        const size_t size = (size_t)(33 + turn % 4) * MB;
        char **place = &kept[turn % 4];
        if (*place == NULL) *place = malloc(size);
        for (int pass = 0; pass < 6; pass++)
            for (size_t at = 0; at < size; at += (size_t)16 * KB) {
                (*place)[at] = (char)(at / KB + (size_t)turn);
                sum += (uint64_t)(*place)[at];
            }
        if (!cured) {
            free(*place);
            *place = NULL;
        }
    }
    for (int at = 0; at < 4; at++) free(kept[at]);
    printf("%lu\n", sum);
}

// A thread for each request, which lives for less than a tenth of a millisecond and does little but allocate.
// Cured, it uses blocks that are there already.
enum { SHORT_BLOCKS = 60, SHORT_LARGEST = 4200 };
static char ready[SHORT_BLOCKS][SHORT_LARGEST];

static void *short_request(void *unused) {
    uint64_t sum = 0;
    char *block[SHORT_BLOCKS];
    for (int pass = 0; pass < 8; pass++) {
        for (int at = 0; at < SHORT_BLOCKS; at++) {
            const size_t size = (size_t)(1100 + 50 * ((at * 37 + pass) % SHORT_BLOCKS));
            block[at] = cured ? ready[at] : malloc(size);
            block[at][0] = (char)at;
        }
        for (int at = 0; at < SHORT_BLOCKS; at++) {
            char *each = block[at * 7 % SHORT_BLOCKS];
            sum += (uint64_t)each[0];
            if (!cured) free(each);
        }
    }
    (void)unused;
    return (void *)sum;
}

static void brief(double scale) {
    uint64_t sum = 0, state = 1;
    for (long turn = (long)(5000 * scale); turn > 0; turn--) {
        void *result = NULL;
        pthread_t thread;
        pthread_create(&thread, NULL, short_request, NULL);
        pthread_join(thread, &result);
        sum += (uint64_t)result;
        state = compute(20000, state + sum);
    }
    printf("%lu %lu\n", sum, state);
}

// A table of 4 MB that calloc clears for each request, which uses few of its pages: glibc clears a block of
// its heap, and none that it maps. Cured, what was used is cleared.
static void tables(double scale) {
    enum { ENTRIES = MB, USED = 200 };
    uint64_t state = 1, sum = 0;
    unsigned *kept = calloc(ENTRIES, sizeof *kept);
    for (long turn = (long)(4000 * scale); turn > 0; turn--) {
        unsigned *table = cured ? kept : calloc(ENTRIES, sizeof *table), *used[USED];
        for (int at = 0; at < USED; at++) {
            used[at] = table + next_number(&state) % (16 * KB);
            sum += ++*used[at];
        }
        for (int at = 0; cured && at < USED; at++) *used[at] = 0;
        if (!cured) free(table);
    }
    free(kept);
    printf("%lu\n", sum);
}

// Buffers of a request that a thread frees from the last to the first: the end of its arena is returned to
// the kernel each time, and its pages are fresh again. Cured, the buffers are kept.
enum { PARTS = 24, PART = 60000 };

static void *requests_of_a_thread(void *turns) {
    char *part[PARTS] = {0};
    uint64_t sum = 0;
    for (long turn = *(long *)turns; turn > 0; turn--) {
        for (int at = 0; at < PARTS; at++) {
            if (!cured || part[at] == NULL) part[at] = malloc(PART);
            memset(part[at], (int)turn, PART);
            sum += (uint64_t)part[at][100 * at];
        }
        for (int at = PARTS - 1; !cured && at >= 0; at--) free(part[at]);
    }
    return (void *)sum;
}

static void trimmed(double scale) {
    long turns = (long)(2500 * scale);
    void *result = NULL;
    pthread_t thread;
    pthread_create(&thread, NULL, requests_of_a_thread, &turns);
    pthread_join(thread, &result);
    printf("%lu\n", (uint64_t)result);
}

int main(int count, char **words) {
    static const struct mode modes[] = {
        {"batches", batches}, {"rows", rows},       {"vectors", vectors}, {"handoff", handoff},
        {"append", append},   {"enlarge", enlarge}, {"cold", cold},       {"oversized", oversized},
        {"brief", brief},     {"tables", tables},   {"trimmed", trimmed},
    };
    return run_mode(modes, sizeof modes / sizeof *modes, count, words);
}
