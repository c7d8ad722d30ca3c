// A reference model for programs that know the purpose of each access: a record per object, and at the end
// the areas that follow. Kept in static memory, where no engine sees an object.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_RECORDS = 1 << 16, RECORD_SLOTS = 1 << 18 };

struct record {
    const void *at;
    uint64_t size;
    int birth, freed;
    int used;    // step of the last use by the program itself
    int last;    // of the last access for any purpose
    int earlier; // of the last access in an earlier step
};

static struct record records[MAX_RECORDS];
static uint32_t record_at[RECORD_SLOTS]; // by address: the number of the last object that was there
static uint64_t step_end[MAX_RECORDS + 1];
static int step; // allocations so far; the object of step n is records[n]

static uint32_t *slot_of(const void *at) {
    uint64_t slot = ((uintptr_t)at >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 46;
    while (record_at[slot] != 0 && records[record_at[slot]].at != at) slot = (slot + 1) % RECORD_SLOTS;
    return &record_at[slot];
}
static struct record *record(const void *at) { return &records[*slot_of(at)]; }

static void born(const void *at, uint64_t size) {
    *slot_of(at) = (uint32_t)++step;
    step_end[step] = step_end[step - 1] + size;
    struct record *object = &records[step];
    object->at = at;
    object->size = size;
    object->birth = object->used = object->last = object->earlier = step;
}

// Accesses of an object: `released` finds the next object to free, or unlinks this one from a list.
static void released(const void *at) {
    struct record *object = record(at);
    if (object->last != step) object->earlier = object->last;
    object->last = step;
}
static void used(const void *at) {
    released(at);
    record(at)->used = step;
}
static void freed(const void *at) { record(at)->freed = step; }

static uint64_t until(const struct record *object, int last) {
    return object->size * (step_end[last] - step_end[object->birth - 1]);
}

// Prints LIVE TRUE ALL EARLIER: the areas under the bytes in use, and under the bytes needed for uses, for
// all accesses, and for all accesses before the step of the free.
static void say(void) {
    uint64_t live = 0, true_ = 0, all = 0, earlier = 0;
    for (const struct record *object = records + 1; object <= records + step; ++object) {
        live += until(object, object->freed);
        true_ += until(object, object->used);
        all += until(object, object->last);
        earlier += until(object, object->last == object->freed ? object->earlier : object->last);
    }
    char line[200];
    const int size = snprintf(line, sizeof line, "%ju %ju %ju %ju\n", (uintmax_t)live, (uintmax_t)true_,
                              (uintmax_t)all, (uintmax_t)earlier);
    (void)!write(1, line, (size_t)size);
}
