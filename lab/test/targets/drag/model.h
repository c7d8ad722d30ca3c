// For programs that know what each access of theirs is for: an object's books, and at the end the areas that
// follow from them. They are kept in static memory, where no engine sees an object.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { BOOKS_MOST = 1 << 16, BOOKS_SLOTS = 1 << 18 };

struct book {
    const void *at;
    uint64_t size;
    int birth, freed;
    int used;    // step of the last use: what the program would miss
    int last;    // of the last access, whatever it is for
    int earlier; // of the last access in a step before that one
};

static struct book books[BOOKS_MOST];
static uint32_t book_of[BOOKS_SLOTS]; // by address: the last object that was there, and one more
static uint64_t step_end[BOOKS_MOST + 1];
static int step; // allocations so far; the object of step n is books[n]

static uint32_t *slot_of(const void *at) {
    uint64_t slot = ((uintptr_t)at >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 46;
    while (book_of[slot] != 0 && books[book_of[slot]].at != at) slot = (slot + 1) % BOOKS_SLOTS;
    return &book_of[slot];
}
static struct book *book(const void *at) { return &books[*slot_of(at)]; }

static void born(const void *at, uint64_t size) {
    *slot_of(at) = (uint32_t)++step;
    step_end[step] = step_end[step - 1] + size;
    struct book *one = &books[step];
    one->at = at;
    one->size = size;
    one->birth = one->used = one->last = one->earlier = step;
}

// Accesses of an object: `released` finds the next one to free, or takes this one out of a list.
static void released(const void *at) {
    struct book *one = book(at);
    if (one->last != step) one->earlier = one->last;
    one->last = step;
}
static void used(const void *at) {
    released(at);
    book(at)->used = step;
}
static void freed(const void *at) { book(at)->freed = step; }

static uint64_t until(const struct book *one, int last) {
    return one->size * (step_end[last] - step_end[one->birth - 1]);
}

// Prints LIVE TRUE ALL EARLIER: areas under the bytes in use, under those that are needed for uses, for all
// accesses, and for those but what came in the step of the free.
static void say(void) {
    uint64_t live = 0, true_ = 0, all = 0, earlier = 0;
    for (const struct book *one = books + 1; one <= books + step; ++one) {
        live += until(one, one->freed);
        true_ += until(one, one->used);
        all += until(one, one->last);
        earlier += until(one, one->last == one->freed ? one->earlier : one->last);
    }
    char line[200];
    const int size = snprintf(line, sizeof line, "%ju %ju %ju %ju\n", (uintmax_t)live, (uintmax_t)true_,
                              (uintmax_t)all, (uintmax_t)earlier);
    (void)!write(1, line, (size_t)size);
}
