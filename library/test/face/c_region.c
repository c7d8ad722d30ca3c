#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "c_test.h"
#include "reap/face/c.h"

static char said[8];

static void say(void *word) { strcat(said, word); }

static void test_allocation(void) {
    reap_region *const region = reap_region_create(NULL);
    for (size_t size = 0; size < 1000; ++size) {
        char *const object = reap_region_allocate(region, size);
        EXPECT(object != NULL && IS_ALIGNED(object, 16));
        memset(object, 1, size);
    }
    EXPECT(IS_ALIGNED(reap_region_allocate_aligned(region, 3, 4096), 4096));

    void *const last = reap_region_allocate(region, 20);
    EXPECT(reap_region_owns(region, last) && !reap_region_owns(region, said));
    EXPECT(reap_region_resize(region, last, 20, 400));
    EXPECT(!reap_region_resize(region, last, 400, SIZE_MAX));
    reap_region_deallocate(region, last, 400);
    reap_region_deallocate(region, NULL, 400);
    EXPECT(reap_region_allocate(region, 1) == last);
    reap_region_destroy(region);
    reap_region_destroy(NULL);
}

static void test_refusals(void) {
    reap_region *const region = reap_region_create(NULL);
    errno = 0;
    EXPECT(reap_region_allocate_aligned(region, 8, 24) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(reap_region_allocate_aligned(region, 8, 0) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(reap_region_allocate(region, SIZE_MAX) == NULL && errno == ENOMEM);
    EXPECT(reap_region_allocate(region, 8) != NULL);
    reap_region_destroy(region);
}

static void test_ends(void) {
    reap_region *const region = reap_region_create(NULL);
    reap_mark early;
    reap_mark late;
    EXPECT(reap_region_at_end(region, say, "a"));
    EXPECT(reap_region_mark(region, &early));
    EXPECT(reap_region_at_end(region, say, "b"));
    EXPECT(reap_region_mark(region, &late));
    EXPECT(reap_region_rewind(region, early));
    EXPECT(strcmp(said, "b") == 0);
    if (!reap_is_checked()) {
        errno = 0;
        EXPECT(!reap_region_rewind(region, late) && errno == EINVAL);
    }
    reap_region_reset(region, 0);
    EXPECT(strcmp(said, "ba") == 0);
    EXPECT(reap_region_at_end(region, say, "c"));
    reap_region_destroy(region);
    EXPECT(strcmp(said, "bac") == 0);
}

static void test_nesting_and_splicing(void) {
    reap_region *const parent = reap_region_create(NULL);
    reap_region *const child = reap_region_nest(parent, NULL);
    reap_region *const destroyed = reap_region_nest(parent, NULL);
    reap_region *const other = reap_region_create(NULL);
    said[0] = '\0';
    EXPECT(reap_region_at_end(child, say, "x"));
    EXPECT(reap_region_allocate(destroyed, 100) != NULL);
    reap_region_destroy(destroyed);
    EXPECT(reap_region_at_end(other, say, "y"));
    EXPECT(reap_region_splice(parent, other));
    reap_region_destroy(other);
    EXPECT(strcmp(said, "") == 0);
    reap_region_destroy(parent);
    EXPECT(strcmp(said, "yx") == 0 || strcmp(said, "xy") == 0);
}

static void *allocate_likewise(void *context, size_t size, size_t alignment) {
    return counting_allocate(context, size, alignment);
}
static void deallocate_likewise(void *context, void *data, size_t size, size_t alignment) {
    counting_deallocate(context, data, size, alignment);
}

static void test_sources(void) {
    struct counting_source counter = {0, 100000};
    const reap_source source = COUNTING(counter);
    const reap_source half = {&counter, counting_allocate, NULL};
    const reap_source other_half = {&counter, NULL, counting_deallocate};
    reap_region_options options = REAP_REGION_OPTIONS_INIT;
    reap_region_statistics statistics = {.size = sizeof statistics};
    reap_mark mark;

    options.source = &half;
    errno = 0;
    EXPECT(reap_region_create(&options) == NULL && errno == EINVAL);
    options.source = &other_half;
    errno = 0;
    EXPECT(reap_region_create(&options) == NULL && errno == EINVAL);
    options.source = &source;
    reap_region *const region = reap_region_create(&options);
    reap_region *const elsewhere = reap_region_create(NULL);
    errno = 0;
    EXPECT(!reap_region_splice(elsewhere, region) && errno == EINVAL);
    for (int which = 0; which < 2; ++which) {
        /* The same context, and one other function. */
        const reap_source similar = {&counter, which == 0 ? allocate_likewise : counting_allocate,
                                     which == 0 ? counting_deallocate : deallocate_likewise};
        options.source = &similar;
        reap_region *const alike = reap_region_create(&options);
        EXPECT(!reap_region_splice(alike, region));
        reap_region_destroy(alike);
    }
    errno = 0;
    EXPECT(reap_region_nest(region, &options) == NULL && errno == EINVAL);
    options.source = NULL;
    options.size = 0;
    errno = 0;
    EXPECT(reap_region_nest(region, &options) == NULL && errno == EINVAL);
    while (reap_region_allocate(region, 100) != NULL) {
    }
    while (reap_region_allocate(region, 1) != NULL) {
    }
    EXPECT(errno == ENOMEM);
    errno = 0;
    EXPECT(!reap_region_mark(region, &mark) && errno == ENOMEM);
    EXPECT(!reap_region_at_end(region, say, "never"));
    EXPECT(reap_region_nest(region, NULL) == NULL);
    reap_region_get_statistics(region, &statistics);
    EXPECT(statistics.held == counter.out && statistics.used > 50000 && statistics.chunks > 1);
    reap_region_destroy(elsewhere);
    reap_region_destroy(region);
    EXPECT(counter.out == 0);
}

/* What programs of another age pass. */
static void test_versions(void) {
    struct {
        reap_region_options known;
        size_t added;
    } newer = {REAP_REGION_OPTIONS_INIT, 0};
    reap_region_options older = REAP_REGION_OPTIONS_INIT;
    struct {
        size_t size;
        size_t held;
        size_t untouched;
    } statistics = {2 * sizeof(size_t), 0, 77};
    reap_region *region;

    newer.known.size = sizeof newer;
    newer.known.limit = 10000;
    region = reap_region_create(&newer.known);
    EXPECT(region != NULL && reap_region_allocate(region, 20000) == NULL);
    EXPECT(reap_region_allocate(region, 100) != NULL);
    reap_region_get_statistics(region, (reap_region_statistics *)&statistics);
    EXPECT(statistics.held == 8192 && statistics.untouched == 77 && statistics.size == 2 * sizeof(size_t));
    statistics.held = 5;
    statistics.size = sizeof(size_t); /* and knows no figure */
    reap_region_get_statistics(region, (reap_region_statistics *)&statistics);
    EXPECT(statistics.held == 5 && statistics.size == sizeof(size_t));
    reap_region_destroy(region);

    newer.added = 1;
    errno = 0;
    EXPECT(reap_region_create(&newer.known) == NULL && errno == EINVAL);

    /* Ends before `limit`: what stands there is not looked at. */
    older.size = offsetof(reap_region_options, limit);
    older.limit = 0;
    region = reap_region_create(&older);
    EXPECT(reap_region_allocate(region, 100) != NULL);
    reap_region_destroy(region);
    older.size = 0;
    errno = 0;
    EXPECT(reap_region_create(&older) == NULL && errno == EINVAL);
}

static unsigned found;

static void count(reap_misuse what, const void *address, size_t size, const char *layer) {
    EXPECT(what == REAP_MISUSE_WRONG_SIZE && address != NULL && size == 8 && strcmp(layer, "Region") == 0);
    ++found;
}

static void test_misuse(void) {
    reap_region *const region = reap_region_create(NULL);
    void *const object = reap_region_allocate(region, 8);
    reap_set_misuse_handler(count);
    if (reap_is_checked()) {
        reap_region_deallocate(region, object, 9);
        EXPECT(found == 1);
    }
    reap_set_misuse_handler(NULL);
    reap_region_destroy(region);
}

void test_region(void) {
    test_allocation();
    test_refusals();
    test_ends();
    test_nesting_and_splicing();
    test_sources();
    test_versions();
    test_misuse();
}
