// Maps memory in every way, carves objects out of some of it, and prints its own drag at the chunk level,
// which the drag engine must reproduce, as "LIVE NEEDED CHUNKS PEAK LEAST" like random.c. Does not call
// malloc. The argument is a seed.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

enum { PAGE = 4096, PAGES = 16, MAX = 20000, ROUNDS = 4000 };

// A contiguous part of a mapping that is still mapped.
struct stretch {
    char *at;
    int pages;
    int mapping; // its number
    int last[PAGES];
};
static struct stretch stretches[MAX];
static int count;

static struct {
    int birth, carved, pages, left; // pages that count, if it is ever carved: those left by then
} mappings[MAX];
static int mapping_count;

static struct {
    int mapping, pages, last, freed, counts;
} ended[MAX];
static int ended_count;

static int now; // steps
static uint64_t state;

static int below(int limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static void born(char *at, int pages) {
    struct stretch *it = &stretches[count++];
    *it = (struct stretch){.at = at, .pages = pages, .mapping = mapping_count};
    mappings[mapping_count].left = pages;
    mappings[mapping_count++].birth = ++now;
    for (int i = 0; i < pages; ++i) it->last[i] = now;
}

// So many pages of it, from one on, are no more; what is behind them is a stretch of its own.
static void died(int which, int from, int pages) {
    struct stretch *it = &stretches[which];
    int last = 0;
    for (int i = from; i < from + pages; ++i)
        if (it->last[i] > last) last = it->last[i];
    ended[ended_count].mapping = it->mapping;
    ended[ended_count].pages = pages;
    ended[ended_count].last = last;
    ended[ended_count].counts = mappings[it->mapping].carved;
    ended[ended_count++].freed = now;
    mappings[it->mapping].left -= pages;
    if (from + pages < it->pages) {
        struct stretch *rest = &stretches[count++];
        *rest = (struct stretch){.at = it->at + (from + pages) * PAGE, .mapping = it->mapping};
        for (int i = from + pages; i < it->pages; ++i) rest->last[rest->pages++] = it->last[i];
    }
    it->pages = from;
    if (from == 0) stretches[which] = stretches[--count];
}

static char *map(int pages, int protection) {
    return mmap(0, (size_t)pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void make(void) {
    const int pages = 1 + below(PAGES);
    switch (below(8)) {
    case 0: { // reserved, and made accessible in two steps
        char *at = map(PAGES, PROT_NONE);
        mprotect(at, (size_t)pages * PAGE, PROT_READ | PROT_WRITE);
        born(at, pages);
        if (pages == PAGES) return;
        mprotect(at, PAGES * PAGE, PROT_READ | PROT_WRITE);
        born(at + pages * PAGE, PAGES - pages);
        return;
    }
    case 1: { // the heap's end
        char *at = sbrk(pages * PAGE);
        if (at == (char *)-1) return;
        born(at, pages);
        return;
    }
    default: {
        char *at = map(pages, PROT_READ | PROT_WRITE);
        born(at, pages);
    }
    }
}

// Valgrind does not survive holes in it.
static int is_heap(const struct stretch *it) { return it->at < (char *)sbrk(0); }

static void drop(int which) {
    struct stretch *it = &stretches[which];
    if (is_heap(it)) return;
    const int from = below(3) ? 0 : below(it->pages), pages = below(3) ? it->pages - from : 1;
    char *at = it->at + from * PAGE;
    switch (below(3)) {
    case 0:
        mprotect(at, (size_t)pages * PAGE, PROT_NONE);
        break;
    case 1:
        mmap(at, (size_t)pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        break;
    default:
        munmap(at, (size_t)pages * PAGE);
    }
    died(which, from, pages);
}

static void grow(int which) {
    struct stretch *it = &stretches[which];
    if (it->pages == PAGES || is_heap(it)) return;
    const int more = 1 + below(PAGES - it->pages);
    char *at = mremap(it->at, (size_t)it->pages * PAGE, (size_t)(it->pages + more) * PAGE, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) return;
    it->at = at;
    born(at + it->pages * PAGE, more);
}

static void carve(int which) {
    struct stretch *it = &stretches[which];
    if (!mappings[it->mapping].carved) mappings[it->mapping].pages = mappings[it->mapping].left;
    mappings[it->mapping].carved = 1;
    VALGRIND_MEMPOOL_ALLOC(stretches, it->at + below(it->pages) * PAGE + below(32) * 64, 64);
    ++now;
}

static volatile int seen;
static void use(int which) {
    struct stretch *it = &stretches[which];
    const int page = below(it->pages);
    volatile char *at = it->at + page * PAGE + below(PAGE);
    if (below(2))
        *at = 1;
    else
        seen += *at;
    it->last[page] = now;
}

static void print(void) {
    static uint64_t widths[MAX + 1], time[MAX + 1];
    static int64_t in_use[MAX + 1], in_need[MAX + 1];
    int chunks = 0;
    for (int i = 0; i < mapping_count; ++i) {
        if (!mappings[i].carved) continue;
        ++chunks;
        widths[mappings[i].birth - 1] = (uint64_t)mappings[i].pages * PAGE;
    }
    for (int i = 0; i < now; ++i) time[i + 1] = time[i] + widths[i];
    unsigned __int128 live = 0, needed = 0;
    for (int i = 0; i < ended_count; ++i) {
        if (!ended[i].counts) continue;
        const int64_t size = (int64_t)ended[i].pages * PAGE;
        const int birth = mappings[ended[i].mapping].birth;
        live += (unsigned __int128)size * (time[ended[i].freed] - time[birth - 1]);
        needed += (unsigned __int128)size * (time[ended[i].last] - time[birth - 1]);
        in_use[birth - 1] += size;
        in_use[ended[i].freed] -= size;
        in_need[birth - 1] += size;
        in_need[ended[i].last] -= size;
    }
    int64_t level = 0, need = 0, peak = 0, least = 0;
    for (int i = 0; i < now; ++i) {
        level += in_use[i];
        need += in_need[i];
        if (level > peak) peak = level;
        if (need > least) least = need;
    }
    static char line[200];
    const int length = snprintf(line, sizeof line, "%llu %llu %d %lld %lld\n", (unsigned long long)live,
                                (unsigned long long)needed, chunks, (long long)peak, (long long)least);
    if (write(1, line, (size_t)length) != length) _exit(3);
}

int main(int words, char **word) {
    if (words < 2) return 2;
    state = strtoull(word[1], 0, 10);
    for (int round = 0; round < ROUNDS; ++round) {
        const int which = count > 0 ? below(count) : 0;
        const int what = count > 0 ? below(20) : 0;
        if (what < 4)
            make();
        else if (what < 8)
            drop(which);
        else if (what < 9)
            grow(which);
        else if (what < 11)
            carve(which);
        else
            use(which);
    }
    while (count > 0) died(count - 1, 0, stretches[count - 1].pages);
    print();
    _exit(0);
}
