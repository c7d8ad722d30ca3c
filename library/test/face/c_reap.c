#include <errno.h>
#include <string.h>

#include "c_test.h"
#include "reap/face/c.h"

static char said[8];

static void say(void *word) { strcat(said, word); }

static size_t live_in(const reap_reap *reap) {
    reap_reap_statistics statistics = {.size = sizeof statistics};
    reap_reap_get_statistics(reap, &statistics);
    return statistics.live;
}

static void test_allocation(void) {
    static void *objects[1000];
    reap_reap *const reap = reap_reap_create(NULL);
    for (size_t size = 0; size < 1000; ++size) {
        objects[size] = reap_reap_allocate(reap, size);
        EXPECT(objects[size] != NULL && IS_ALIGNED(objects[size], 16));
        EXPECT(reap_reap_usable_size(reap, objects[size]) >= size);
        memset(objects[size], (int)size, size);
    }
    for (size_t size = 0; size < 1000; size += 2) reap_reap_deallocate(reap, objects[size]);
    for (size_t size = 1; size < 1000; size += 2) {
        EXPECT(((unsigned char *)objects[size])[size - 1] == (unsigned char)size);
        reap_reap_deallocate_sized(reap, objects[size], size);
    }
    EXPECT(live_in(reap) == 0 && reap_reap_check(reap));
    reap_reap_deallocate(reap, NULL);
    reap_reap_deallocate_sized(reap, NULL, 8);
    EXPECT(reap_reap_usable_size(reap, NULL) == 0);

    void *const aligned = reap_reap_allocate_aligned(reap, 3, 4096);
    EXPECT(IS_ALIGNED(aligned, 4096) && reap_reap_owns(reap, aligned) && !reap_reap_owns(reap, said));
    reap_reap_deallocate(reap, aligned);
    EXPECT(live_in(reap) == 0);
    reap_reap_destroy(reap);
    reap_reap_destroy(NULL);
}

static void test_reallocation(void) {
    reap_reap *const reap = reap_reap_create(NULL);
    char *object = reap_reap_reallocate(reap, NULL, 5);
    strcpy(object, "word");
    for (size_t size = 10; size < (size_t)4 << 20; size *= 3) {
        object = reap_reap_reallocate(reap, object, size);
        EXPECT(strcmp(object, "word") == 0 && reap_reap_usable_size(reap, object) >= size);
        memset(object + 5, 1, size - 5);
    }
    errno = 0;
    EXPECT(reap_reap_reallocate(reap, object, SIZE_MAX) == NULL && errno == ENOMEM);
    EXPECT(strcmp(object, "word") == 0);
    EXPECT(!reap_reap_resize(reap, object, SIZE_MAX));
    object = reap_reap_reallocate(reap, object, 5);
    EXPECT(strcmp(object, "word") == 0);
    reap_reap_deallocate(reap, object);

    object = reap_reap_allocate(reap, 20);
    /* In checked mode nothing grows where it stands. */
    EXPECT(reap_reap_resize(reap, object, 400) != reap_is_checked());
    reap_reap_destroy(reap);
}

static void test_refusals(void) {
    reap_reap *const reap = reap_reap_create(NULL);
    errno = 0;
    EXPECT(reap_reap_allocate_aligned(reap, 8, 24) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(reap_reap_allocate_aligned(reap, 8, 0) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(reap_reap_allocate_aligned(reap, 8, (size_t)2 << 30) == NULL && errno == ENOMEM);
    errno = 0;
    EXPECT(reap_reap_allocate(reap, SIZE_MAX) == NULL && errno == ENOMEM);
    EXPECT(reap_reap_allocate(reap, 8) != NULL);
    reap_reap_destroy(reap);
}

static void test_ends(void) {
    reap_reap *const reap = reap_reap_create(NULL);
    reap_mark early;
    reap_mark late;
    EXPECT(reap_reap_at_end(reap, say, "a"));
    EXPECT(reap_reap_mark(reap, &early));
    EXPECT(reap_reap_at_end(reap, say, "b"));
    EXPECT(reap_reap_mark(reap, &late));
    EXPECT(reap_reap_rewind(reap, early));
    EXPECT(strcmp(said, "b") == 0);
    if (!reap_is_checked()) {
        errno = 0;
        EXPECT(!reap_reap_rewind(reap, late) && errno == EINVAL);
    }
    reap_reap_reset(reap, SIZE_MAX);
    EXPECT(strcmp(said, "ba") == 0);
    EXPECT(reap_reap_at_end(reap, say, "c"));
    reap_reap_destroy(reap);
    EXPECT(strcmp(said, "bac") == 0);
}

static void test_nesting(void) {
    struct counting_source counter = {0, (size_t)8 << 20};
    const reap_source source = COUNTING(counter);
    reap_reap_options options = REAP_REAP_OPTIONS_INIT;
    options.source = &source;
    reap_reap *const parent = reap_reap_create(&options);

    errno = 0;
    EXPECT(reap_reap_nest(parent, &options) == NULL && errno == EINVAL);
    options.source = NULL;
    options.size = 1;
    errno = 0;
    EXPECT(reap_reap_nest(parent, &options) == NULL && errno == EINVAL);
    options = (reap_reap_options)REAP_REAP_OPTIONS_INIT;
    options.limit = 10000;
    reap_reap *const early = reap_reap_nest(parent, &options);
    reap_reap *const late = reap_reap_nest(parent, NULL);
    reap_reap *const inner = reap_reap_nest(late, NULL);
    said[0] = '\0';
    EXPECT(reap_reap_at_end(early, say, "x") && reap_reap_at_end(inner, say, "y"));
    EXPECT(reap_reap_allocate(inner, 100) != NULL && reap_reap_allocate(early, 20000) == NULL);
    EXPECT(counter.out == (size_t)2 << 20); /* all in one superblock */

    const size_t live = live_in(parent);
    reap_reap_destroy(early);
    EXPECT(strcmp(said, "x") == 0 && live_in(parent) < live);
    reap_reap_destroy(parent);
    EXPECT(strcmp(said, "xy") == 0 && counter.out == 0);
}

static void test_limits(void) {
    struct counting_source counter = {0, (size_t)5 << 20};
    const reap_source source = COUNTING(counter);
    const reap_source half = {&counter, counting_allocate, NULL};
    reap_reap_options options = REAP_REAP_OPTIONS_INIT;
    reap_reap_statistics statistics = {.size = sizeof statistics};
    reap_mark mark;

    options.source = &half;
    errno = 0;
    EXPECT(reap_reap_create(&options) == NULL && errno == EINVAL);
    options.source = &source;
    options.size = 0;
    errno = 0;
    EXPECT(reap_reap_create(&options) == NULL && errno == EINVAL);
    options.size = sizeof options;
    reap_reap *const reap = reap_reap_create(&options);
    EXPECT(counter.out == 0);
    while (reap_reap_allocate(reap, 1000) != NULL) {
    }
    while (reap_reap_allocate(reap, 1) != NULL) {
    }
    EXPECT(errno == ENOMEM);
    errno = 0;
    EXPECT(!reap_reap_mark(reap, &mark) && errno == ENOMEM);
    EXPECT(!reap_reap_at_end(reap, say, "never"));
    EXPECT(reap_reap_nest(reap, NULL) == NULL);
    reap_reap_get_statistics(reap, &statistics);
    EXPECT(counter.out == (size_t)4 << 20 && statistics.held <= counter.out);
    EXPECT(statistics.live > (size_t)3 << 20 && statistics.chunks > 1 && statistics.large_objects == 0);

    reap_reap_reset(reap, 1 << 20);
    reap_reap_get_statistics(reap, &statistics);
    EXPECT(statistics.held <= (size_t)1 << 20 && statistics.live == 0);
    void *const large = reap_reap_allocate(reap, 600000);
    reap_reap_get_statistics(reap, &statistics);
    EXPECT(large != NULL && statistics.large_objects == 1);
    reap_reap_deallocate(reap, large);
    reap_reap_reset(reap, 0);
    EXPECT(counter.out <= (size_t)2 << 20); /* one superblock is kept */
    reap_reap_destroy(reap);
    EXPECT(counter.out == 0);
}

static void test_trim(void) {
    static void *objects[3000];
    reap_reap *const reap = reap_reap_create(NULL);
    reap_reap_statistics statistics = {.size = sizeof statistics};
    for (size_t i = 0; i < 3000; ++i) objects[i] = reap_reap_allocate(reap, 500);
    reap_reap_get_statistics(reap, &statistics);
    const size_t held = statistics.held;
    for (size_t i = 1; i < 3000; ++i) reap_reap_deallocate(reap, objects[i]);
    reap_reap_trim(reap, 0);
    reap_reap_get_statistics(reap, &statistics);
    EXPECT(held > 1500000 && statistics.held < held / 2 && statistics.spare == 0);
    EXPECT(reap_reap_owns(reap, objects[0]) && reap_reap_check(reap));
    reap_reap_destroy(reap);
}

struct visit {
    reap_reap *reap;
    size_t count;
    size_t bytes;
    size_t stop;
};

static bool free_odd(void *object, size_t usable, void *argument) {
    struct visit *const visit = argument;
    visit->bytes += usable;
    if (*(size_t *)object % 2 == 1) reap_reap_deallocate(visit->reap, object);
    return ++visit->count != visit->stop;
}

static void test_each(void) {
    struct visit visit = {reap_reap_create(NULL), 0, 0, 0};
    for (size_t i = 0; i < 1000; ++i) {
        size_t *const object = reap_reap_allocate(visit.reap, sizeof(size_t) + i);
        *object = i;
    }
    EXPECT(reap_reap_each(visit.reap, free_odd, &visit));
    EXPECT(visit.count == 1000 && visit.bytes >= 1000 * 999 / 2);
    visit.count = 0;
    EXPECT(reap_reap_each(visit.reap, free_odd, &visit) && visit.count == 500);
    visit.count = 0;
    visit.stop = 10;
    EXPECT(!reap_reap_each(visit.reap, free_odd, &visit) && visit.count == 10);
    EXPECT(reap_reap_check(visit.reap));
    reap_reap_destroy(visit.reap);
}

static reap_misuse found;
static const void *found_at;

static void remember(reap_misuse what, const void *address, size_t size, const char *layer) {
    (void)size;
    EXPECT(strcmp(layer, "Reap") == 0);
    found = what;
    found_at = address;
}

static bool keep_first(void *object, size_t usable, void *argument) {
    (void)usable;
    *(void **)argument = object;
    return false;
}

/* Each code that is told is one that the header has. */
static void test_misuse_of_cleanups(void) {
    void *cleanup = NULL;
    reap_reap *const reap = reap_reap_create(NULL);
    EXPECT(reap_reap_at_end(reap, say, "z"));
    EXPECT(!reap_reap_each(reap, keep_first, (void *)&cleanup) && cleanup != NULL);
    reap_set_misuse_handler(remember);
    reap_reap_deallocate(reap, cleanup);
    /* Hardened mode finds it when the callbacks would run. */
    if (!reap_is_checked()) reap_reap_reset(reap, 0);
    EXPECT(found == REAP_MISUSE_SKIPPED_DESTRUCTOR);
    reap_set_misuse_handler(NULL);
    said[0] = '\0';
    reap_reap_destroy(reap);
}

#if REAP_HARDENED
/* What hardened mode tells, in the codes that the header has. */
static void test_misuse_in_hardened_mode(void) {
    reap_reap *const reap = reap_reap_create(NULL);
    char *const object = reap_reap_allocate(reap, 64);
    EXPECT(reap_reap_allocate(reap, 64) != NULL);
    reap_set_misuse_handler(remember);
    reap_reap_deallocate_sized(reap, object, 65);
    EXPECT(found == REAP_MISUSE_WRONG_SIZE && found_at == object);
    reap_reap_deallocate(reap, said);
    EXPECT(found == REAP_MISUSE_FOREIGN_FREE && found_at == said);
    reap_reap_deallocate(reap, object);
    reap_reap_deallocate(reap, object);
    EXPECT(found == REAP_MISUSE_DOUBLE_FREE && found_at == object);
    reap_set_misuse_handler(NULL);
    reap_reap_destroy(reap);
}
#endif

static void test_misuse(void) {
#if REAP_HARDENED
    test_misuse_in_hardened_mode();
    test_misuse_of_cleanups();
#endif
    if (!reap_is_checked()) return;
    test_misuse_of_cleanups();
    reap_reap *const reap = reap_reap_create(NULL);
    char *const object = reap_reap_allocate(reap, 64);
    EXPECT(reap_reap_allocate(reap, 64) != NULL);
    reap_set_misuse_handler(remember);
    reap_reap_deallocate_sized(reap, object, 65);
    EXPECT(found == REAP_MISUSE_WRONG_SIZE && found_at == object);
    reap_reap_deallocate(reap, object + 16);
    EXPECT(found == REAP_MISUSE_INTERIOR_FREE);
    reap_reap_deallocate(reap, object);
    reap_reap_deallocate(reap, object);
    EXPECT(found == REAP_MISUSE_DOUBLE_FREE && found_at == object);
    reap_set_misuse_handler(NULL);
    reap_reap_destroy(reap);
}

void test_reap(void) {
    test_allocation();
    test_reallocation();
    test_refusals();
    test_ends();
    test_nesting();
    test_limits();
    test_trim();
    test_each();
    test_misuse();
}
