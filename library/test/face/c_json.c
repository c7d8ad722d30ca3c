/* The figures of each layer as JSON are those that it tells as a structure. */

#include "c_test.h"

#include <stdarg.h>
#include <string.h>

#include "reap/face/c.h"

/* Whether a text and its length are what the format makes of the figures. */
__attribute__((format(printf, 3, 4))) static bool is_json(const char *text, size_t length, const char *format,
                                                          ...) {
    char expected[256];
    va_list figures;
    va_start(figures, format);
    vsnprintf(expected, sizeof expected, format, figures);
    va_end(figures);
    return strcmp(text, expected) == 0 && strlen(expected) == length;
}

static void test_regions(void) {
    char text[256];
    reap_region *const region = reap_region_create(NULL);
    reap_region_statistics of_region = {.size = sizeof of_region};
    EXPECT(reap_region_allocate(region, 100) != NULL && reap_region_allocate(region, 300000) != NULL);
    reap_region_get_statistics(region, &of_region);
    EXPECT(is_json(text, reap_region_statistics_json(region, text, sizeof text),
                   "{\"held\":%zu,\"used\":%zu,\"spare\":%zu,\"chunks\":%zu,\"large_objects\":%zu}",
                   of_region.held, of_region.used, of_region.spare, of_region.chunks,
                   of_region.large_objects));
    EXPECT(of_region.large_objects == 1);
    const size_t whole = strlen(text);
    EXPECT(reap_region_statistics_json(region, text, 8) == whole && strcmp(text, "{\"held\"") == 0);
    EXPECT(reap_region_statistics_json(region, NULL, 0) == whole);
    reap_region_destroy(region);

    reap_reap *const reap = reap_reap_create(NULL);
    reap_reap_statistics of_reap = {.size = sizeof of_reap};
    EXPECT(reap_reap_allocate(reap, 100) != NULL);
    reap_reap_get_statistics(reap, &of_reap);
    EXPECT(
        is_json(text, reap_reap_statistics_json(reap, text, sizeof text),
                "{\"held\":%zu,\"live\":%zu,\"free\":%zu,\"largest_hole\":%zu,\"spare\":%zu,\"chunks\":%zu,"
                "\"large_objects\":%zu}",
                of_reap.held, of_reap.live, of_reap.free, of_reap.largest_hole, of_reap.spare, of_reap.chunks,
                of_reap.large_objects));
    EXPECT(of_reap.live > 0);
    reap_reap_destroy(reap);

    reap_obstack *const obstack = reap_obstack_create(NULL);
    reap_obstack_statistics of_obstack = {.size = sizeof of_obstack};
    EXPECT(reap_obstack_allocate(obstack, 100) != NULL);
    reap_obstack_get_statistics(obstack, &of_obstack);
    EXPECT(is_json(text, reap_obstack_statistics_json(obstack, text, sizeof text),
                   "{\"held\":%zu,\"used\":%zu,\"spare\":%zu,\"chunks\":%zu}", of_obstack.held,
                   of_obstack.used, of_obstack.spare, of_obstack.chunks));
    EXPECT(of_obstack.used > 0);
    reap_obstack_destroy(obstack);

    reap_stack *const stack = reap_stack_create(NULL);
    reap_stack_statistics of_stack = {.size = sizeof of_stack};
    EXPECT(reap_stack_allocate(stack, 100) != NULL);
    reap_stack_get_statistics(stack, &of_stack);
    EXPECT(is_json(text, reap_stack_statistics_json(stack, text, sizeof text),
                   "{\"held\":%zu,\"used\":%zu,\"pieces\":%zu}", of_stack.held, of_stack.used,
                   of_stack.pieces));
    EXPECT(of_stack.used > 0);
    reap_stack_destroy(stack);
}

static void test_pools(void) {
    char text[256];
    reap_fixed_block *const blocks = reap_fixed_block_create(NULL);
    reap_fixed_block_statistics of_blocks = {.size = sizeof of_blocks};
    EXPECT(reap_fixed_block_allocate(blocks) != NULL);
    reap_fixed_block_get_statistics(blocks, &of_blocks);
    EXPECT(is_json(text, reap_fixed_block_statistics_json(blocks, text, sizeof text),
                   "{\"held\":%zu,\"live\":%zu,\"spare\":%zu,\"chunks\":%zu}", of_blocks.held, of_blocks.live,
                   of_blocks.spare, of_blocks.chunks));
    EXPECT(of_blocks.live == 1);
    reap_fixed_block_destroy(blocks);

    reap_size_classes *const classes = reap_size_classes_create(NULL);
    reap_size_classes_statistics of_classes = {.size = sizeof of_classes};
    EXPECT(reap_size_classes_allocate(classes, 100, NULL) != NULL);
    reap_size_classes_get_statistics(classes, &of_classes);
    EXPECT(is_json(text, reap_size_classes_statistics_json(classes, text, sizeof text),
                   "{\"held\":%zu,\"live\":%zu}", of_classes.held, of_classes.live));
    EXPECT(of_classes.live == 1);
    reap_size_classes_destroy(classes);

    reap_mempool_options options = REAP_MEMPOOL_OPTIONS_INIT;
    options.element_size = 24;
    reap_mempool *const pool = reap_mempool_create(&options);
    reap_mempool_statistics of_pool = {.size = sizeof of_pool};
    EXPECT(reap_mempool_allocate(pool) != NULL);
    reap_mempool_get_statistics(pool, &of_pool);
    EXPECT(is_json(text, reap_mempool_statistics_json(pool, text, sizeof text),
                   "{\"held\":%zu,\"live\":%zu,\"spare\":%zu,\"chunks\":%zu}", of_pool.held, of_pool.live,
                   of_pool.spare, of_pool.chunks));
    EXPECT(of_pool.live == 1);
    reap_mempool_destroy(pool);
}

void test_json(void) {
    test_regions();
    test_pools();
}
