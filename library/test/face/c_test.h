#ifndef REAP_TEST_C_TEST_H
#define REAP_TEST_C_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

extern unsigned failures;

#define EXPECT(what)                                                                                         \
    ((what) ? (void)0 : (void)(++failures, fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what)))

#define IS_ALIGNED(address, alignment) ((uintptr_t)(address) % (alignment) == 0)

/* Whether freed blocks wait before they are used again, as in hardened mode. */
#if REAP_HARDENED
#define WAITS true
#else
#define WAITS false
#endif

/* A source with a limit, which counts what is out. */
struct counting_source {
    size_t out;
    size_t limit;
};
void *counting_allocate(void *context, size_t size, size_t alignment);
void counting_deallocate(void *context, void *data, size_t size, size_t alignment);
#define COUNTING(counter) {&(counter), counting_allocate, counting_deallocate}

void test_json(void);
void test_layers(void);
void test_reap(void);
void test_reap2002(void);
void test_region(void);

#endif
