#include "reap/face/c/reap2002.h"

#include <errno.h>
#include <string.h>

#include "c_test.h"
#include "reap/face/c/reap.h"

/* The handle that a variable of the paper's holds. */
static const reap_reap *handle(void *const *reap) { return *reap; }

static size_t live_in(void *const *reap) {
    reap_reap_statistics statistics = {.size = sizeof statistics};
    reap_reap_get_statistics(handle(reap), &statistics);
    return statistics.live;
}

/* As in figure 4 of the paper: a region, until an object is freed, whose memory is then used again. */
static void test_objects(void) {
    void *reap = NULL;
    void *objects[100];
    reapCreate(&reap, NULL);
    EXPECT(reap != NULL);
    for (size_t i = 0; i < 100; ++i) {
        objects[i] = reapMalloc(&reap, i);
        EXPECT(objects[i] != NULL && IS_ALIGNED(objects[i], 16));
        memset(objects[i], (int)i, i);
    }
    const size_t live = live_in(&reap);
    for (size_t i = 0; i < 100; i += 2) reapFree(&reap, objects[i]);
    EXPECT(live_in(&reap) < live);
    for (size_t i = 1; i < 100; i += 2) EXPECT(((unsigned char *)objects[i])[i - 1] == i);
    reapFree(&reap, NULL);

    reapFreeAll(&reap);
    EXPECT(reap != NULL && live_in(&reap) == 0);
    EXPECT(reapMalloc(&reap, 100) != NULL);
    reapDestroy(&reap);
    EXPECT(reap == NULL);
}

static void test_nothing(void) {
    void *reap = NULL;
    reapDestroy(NULL);
    reapDestroy(&reap);
    reapFreeAll(NULL);
    reapFreeAll(&reap);
    reapFree(NULL, NULL);
    reapFree(&reap, NULL);
    errno = 0;
    EXPECT(reapMalloc(NULL, 1) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(reapMalloc(&reap, 1) == NULL && errno == EINVAL);

    void *no_parent = NULL;
    reapCreate(&reap, &no_parent);
    errno = 0;
    EXPECT(reapMalloc(&reap, SIZE_MAX) == NULL && errno == ENOMEM);
    EXPECT(reapMalloc(&reap, 1) != NULL);
    reapDestroy(&reap);
}

static void test_child_first(void) {
    void *parent = NULL;
    void *child = NULL;
    void *grandchild = NULL;
    reapCreate(&parent, NULL);
    char *const word = reapMalloc(&parent, 6);
    strcpy(word, "stays");
    const size_t live = live_in(&parent);
    for (int round = 0; round < 3; ++round) {
        reapCreate(&child, &parent);
        reapCreate(&grandchild, &child);
        for (int i = 0; i < 1000; ++i) memset(reapMalloc(&child, 100), 1, 100);
        for (int i = 0; i < 1000; ++i) memset(reapMalloc(&grandchild, 100), 1, 100);
        reapDestroy(&grandchild);
        EXPECT(grandchild == NULL && live_in(&child) >= 100000);
        reapDestroy(&child);
        EXPECT(child == NULL && strcmp(word, "stays") == 0 && live_in(&parent) == live);
    }
    reapDestroy(&parent);
}

/* Then children are gone, without a call of their own. */
static void test_parent_first(void) {
    struct counting_source counter = {0, (size_t)2 << 20};
    const reap_source source = COUNTING(counter);
    reap_reap_options options = REAP_REAP_OPTIONS_INIT;
    options.source = &source;
    for (int cleared = 0; cleared < 2; ++cleared) {
        void *parent = reap_reap_create(&options); /* what is a handle there, is one here */
        void *child = NULL;
        void *grandchild = NULL;
        reapCreate(&child, &parent);
        reapCreate(&grandchild, &child);
        EXPECT(reapMalloc(&parent, 100) != NULL && reapMalloc(&child, 100) != NULL);
        EXPECT(reapMalloc(&grandchild, 100000) != NULL && counter.out == (size_t)2 << 20);
        if (cleared != 0) {
            reapFreeAll(&parent);
            EXPECT(live_in(&parent) == 0);
            /* What the children held, is there for others. */
            EXPECT(reapMalloc(&parent, 250000) != NULL && reapMalloc(&parent, 250000) != NULL);
        }
        reapDestroy(&parent);
        EXPECT(parent == NULL && counter.out == 0);
    }

    void *parent = reap_reap_create(&options);
    void *child = &options; /* anything: it is written in any case */
    while (reapMalloc(&parent, 1000) != NULL) {
    }
    while (reapMalloc(&parent, 1) != NULL) {
    }
    errno = 0;
    reapCreate(&child, &parent);
    EXPECT(child == NULL && errno == ENOMEM);
    reapDestroy(&parent);
    EXPECT(counter.out == 0);
}

void test_reap2002(void) {
    test_objects();
    test_nothing();
    test_child_first();
    test_parent_first();
}
