#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "c_test.h"
#include "reap/face/c.h"

static void test_fixed_block(void) {
    struct counting_source counter = {0, 100000};
    const reap_source source = COUNTING(counter);
    reap_fixed_block_options options = REAP_FIXED_BLOCK_OPTIONS_INIT;
    reap_fixed_block_statistics statistics = {.size = sizeof statistics};

    reap_fixed_block *pool = reap_fixed_block_create(NULL);
    char *const first = reap_fixed_block_allocate(pool);
    char *const second = reap_fixed_block_allocate(pool);
    memset(first, 1, 64);
    memset(second, 2, 64);
    EXPECT(first[63] == 1 && IS_ALIGNED(first, 16) && reap_fixed_block_owns(pool, first));
    reap_fixed_block_deallocate(pool, first);
    reap_fixed_block_deallocate(pool, NULL);
    EXPECT((reap_fixed_block_allocate(pool) == first) != WAITS);
    reap_fixed_block_destroy(pool);
    reap_fixed_block_destroy(NULL);

    options.source = &source;
    options.block_size = 192;
    options.alignment = 64;
    pool = reap_fixed_block_create(&options);
    for (void *block = NULL; (block = reap_fixed_block_allocate(pool)) != NULL;)
        EXPECT(IS_ALIGNED(block, 64));
    EXPECT(errno == ENOMEM);
    reap_fixed_block_get_statistics(pool, &statistics);
    EXPECT(statistics.held == counter.out && statistics.live > 100);
    reap_fixed_block_reset(pool, 0);
    EXPECT(counter.out == 0);
    EXPECT(reap_fixed_block_allocate(pool) != NULL);
    reap_fixed_block_destroy(pool);
    EXPECT(counter.out == 0);

    for (size_t size = 0; size < 8; ++size) {
        options.block_size = size;
        options.alignment = 0;
        errno = 0;
        EXPECT(reap_fixed_block_create(&options) == NULL && errno == EINVAL);
    }
    options.block_size = 64;
    options.alignment = 24;
    errno = 0;
    EXPECT(reap_fixed_block_create(&options) == NULL && errno == EINVAL);
}

static void test_size_classes(void) {
    struct counting_source counter = {0, 1 << 20};
    const reap_source source = COUNTING(counter);
    reap_size_classes_options options = REAP_SIZE_CLASSES_OPTIONS_INIT;
    reap_size_classes_statistics statistics = {.size = sizeof statistics};
    size_t class_size = 0;

    options.source = &source;
    reap_size_classes *const classes = reap_size_classes_create(&options);
    for (size_t size = 0; size <= 256; ++size) {
        char *const object = reap_size_classes_allocate(classes, size, &class_size);
        EXPECT(object != NULL && class_size >= size && IS_ALIGNED(object, 16));
        memset(object, 1, class_size);
        EXPECT(reap_size_classes_owns(classes, object));
        reap_size_classes_deallocate(classes, object, class_size);
        EXPECT((reap_size_classes_allocate(classes, size, NULL) == object) != WAITS);
    }
    errno = 0;
    class_size = 77;
    EXPECT(reap_size_classes_allocate(classes, 257, &class_size) == NULL && errno == ENOMEM);
    EXPECT(class_size == 77);
    reap_size_classes_deallocate(classes, NULL, 257);
    reap_size_classes_get_statistics(classes, &statistics);
    EXPECT(statistics.live == 257 && statistics.held == counter.out);
    reap_size_classes_reset(classes, 0);
    EXPECT(counter.out == 0);
    reap_size_classes_destroy(classes);
}

static void test_obstack(void) {
    struct counting_source counter = {0, 100000};
    const reap_source source = COUNTING(counter);
    reap_obstack_options options = REAP_OBSTACK_OPTIONS_INIT;
    reap_obstack_statistics statistics = {.size = sizeof statistics};

    options.source = &source;
    reap_obstack *const obstack = reap_obstack_create(&options);
    void *const first = reap_obstack_allocate(obstack, 100);
    void *const second = reap_obstack_allocate_aligned(obstack, 100, 256);
    EXPECT(first != NULL && IS_ALIGNED(second, 256) && reap_obstack_owns(obstack, second));
    EXPECT(reap_obstack_free_from(obstack, second));
    EXPECT(reap_obstack_allocate_aligned(obstack, 100, 256) == second);
    EXPECT(reap_obstack_free_from(obstack, NULL));
    if (!reap_is_checked()) {
        errno = 0;
        EXPECT(!reap_obstack_free_from(obstack, &counter) && errno == EINVAL);
    }

    errno = 0;
    EXPECT(reap_obstack_finish(obstack) == NULL && errno == EINVAL);
    for (const char *letter = "abcdefghijklmnopqrstuvwxyz"; *letter != '\0'; ++letter)
        EXPECT(reap_obstack_grow(obstack, letter, 1));
    EXPECT(reap_obstack_growing(obstack) == 26 && reap_obstack_base(obstack) != NULL);
    EXPECT(reap_obstack_grow(obstack, NULL, 5000));
    errno = 0;
    EXPECT(!reap_obstack_grow(obstack, NULL, 200000) && errno == ENOMEM);
    const char *const word = reap_obstack_finish(obstack);
    EXPECT(strncmp(word, "abcdefghijklmnopqrstuvwxyz", 26) == 0);
    EXPECT(reap_obstack_base(obstack) == NULL);
    EXPECT(reap_obstack_grow(obstack, "x", 1));
    reap_obstack_drop(obstack);
    EXPECT(reap_obstack_growing(obstack) == 0);

    errno = 0;
    EXPECT(reap_obstack_allocate(obstack, 200000) == NULL && errno == ENOMEM);
    reap_obstack_get_statistics(obstack, &statistics);
    EXPECT(statistics.held == counter.out && statistics.used > 5000);
    reap_obstack_reset(obstack, 0);
    EXPECT(counter.out == 0);
    EXPECT(reap_obstack_allocate(obstack, 1) != NULL);
    reap_obstack_destroy(obstack);
    reap_obstack_destroy(NULL);
    EXPECT(counter.out == 0);
}

static void test_stack(void) {
    struct counting_source counter = {0, 100000};
    const reap_source source = COUNTING(counter);
    reap_stack_options options = REAP_STACK_OPTIONS_INIT;
    reap_stack_statistics statistics = {.size = sizeof statistics};

    options.source = &source;
    errno = 0;
    EXPECT(reap_stack_create(&options) == NULL && errno == ENOMEM);
    options.memory = 0;
    errno = 0;
    EXPECT(reap_stack_create(&options) == NULL && errno == EINVAL);

    options.memory = 10000;
    reap_stack *const stack = reap_stack_create(&options);
    void *const first = reap_stack_allocate(stack, 100);
    void *const second = reap_stack_allocate_aligned(stack, 100, 64);
    EXPECT(IS_ALIGNED(first, 16) && IS_ALIGNED(second, 64) && reap_stack_owns(stack, first));
    reap_stack_deallocate(stack, first);
    EXPECT(reap_stack_allocate(stack, 100) != first);
    reap_stack_deallocate(stack, NULL);
    reap_stack_reset(stack);
    EXPECT(reap_stack_allocate(stack, 100) == first);
    errno = 0;
    EXPECT(reap_stack_allocate(stack, 20000) == NULL && errno == ENOMEM);
    reap_stack_get_statistics(stack, &statistics);
    EXPECT(statistics.held == counter.out && statistics.pieces == 1);
    reap_stack_destroy(stack);
    EXPECT(counter.out == 0);
}

struct visit {
    reap_mempool *pool;
    size_t count;
    size_t stop;
};

/* Frees each element that it is shown, and makes another one for every second. */
static bool replace(void *element, void *argument) {
    struct visit *const visit = argument;
    reap_mempool_deallocate(visit->pool, element);
    if (visit->count % 2 == 0) EXPECT(reap_mempool_allocate(visit->pool) != NULL);
    return ++visit->count != visit->stop;
}

static void test_mempool(void) {
    struct counting_source counter = {0, (size_t)8 << 20};
    const reap_source source = COUNTING(counter);
    reap_mempool_options options = REAP_MEMPOOL_OPTIONS_INIT;
    reap_mempool_statistics statistics = {.size = sizeof statistics};

    errno = 0;
    EXPECT(reap_mempool_create(NULL) == NULL && errno == EINVAL);
    options.element_size = 1025;
    errno = 0;
    EXPECT(reap_mempool_create(&options) == NULL && errno == EINVAL);

    options.source = &source;
    for (size_t size = 1; size <= 1024; ++size) {
        options.element_size = size;
        reap_mempool *const pool = reap_mempool_create(&options);
        char *const first = reap_mempool_allocate(pool);
        char *const second = reap_mempool_allocate(pool);
        memset(first, 1, size);
        memset(second, 2, size);
        EXPECT(first[size - 1] == 1 && IS_ALIGNED(first, size % 16 == 0 ? 16 : 8));
        EXPECT(reap_mempool_owns(pool, first) && !reap_mempool_owns(pool, &counter));
        reap_mempool_deallocate(pool, first);
        reap_mempool_deallocate(pool, NULL);
        EXPECT((reap_mempool_allocate(pool) == first) != WAITS);
        reap_mempool_destroy(pool);
        EXPECT(counter.out == 0);
    }
    reap_mempool_destroy(NULL);

    options.element_size = 40;
    options.elements_per_chunk = 100;
    reap_mempool *const pool = reap_mempool_create(&options);
    struct visit visit = {pool, 0, 500};
    for (int i = 0; i < 1000; ++i) EXPECT(reap_mempool_allocate(pool) != NULL);
    EXPECT(!reap_mempool_each(pool, replace, &visit));
    reap_mempool_get_statistics(pool, &statistics);
    EXPECT(statistics.live == 750 && statistics.held == counter.out && statistics.chunks >= 9);
    reap_mempool_clear(pool, 0);
    EXPECT(counter.out == 0);
    EXPECT(reap_mempool_each(pool, replace, &visit));
    reap_mempool_destroy(pool);
}

/* A region's and what all layers do with options is in c_region.c: here, that every layer does. */
static void test_refused_options(void) {
    struct counting_source counter = {0, 100000};
    const reap_source half = {&counter, counting_allocate, NULL};
#define REFUSES(name, ...)                                                                                   \
    do {                                                                                                     \
        reap_##name##_options options = __VA_ARGS__;                                                         \
        options.source = &half;                                                                              \
        errno = 0;                                                                                           \
        EXPECT(reap_##name##_create(&options) == NULL && errno == EINVAL);                                   \
        options.source = NULL;                                                                               \
        options.size = 0;                                                                                    \
        errno = 0;                                                                                           \
        EXPECT(reap_##name##_create(&options) == NULL && errno == EINVAL);                                   \
    } while (0)
    REFUSES(fixed_block, REAP_FIXED_BLOCK_OPTIONS_INIT);
    REFUSES(size_classes, REAP_SIZE_CLASSES_OPTIONS_INIT);
    REFUSES(obstack, REAP_OBSTACK_OPTIONS_INIT);
    REFUSES(stack, REAP_STACK_OPTIONS_INIT);
    REFUSES(mempool, REAP_MEMPOOL_OPTIONS_INIT);
#undef REFUSES
}

void test_layers(void) {
    test_refused_options();
    test_fixed_block();
    test_size_classes();
    test_obstack();
    test_stack();
    test_mempool();
}
