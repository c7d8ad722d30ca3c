"""Events without a stamp: with several threads only where the order at their address is known without one."""

from functools import partial

import pytest
from programs import compile_c
from recorded import recorded

from reap import native

# The thread frees what was allocated right before it began, and allocates at the same addresses.
PROGRAM = r"""
    #include <pthread.h>
    #include <stdlib.h>
    static void *blocks[100];
    static void *replace(void *argument) {
        for (int i = 0; i < 100; i++) free(blocks[i]);
        for (int i = 0; i < 100; i++) blocks[i] = malloc(3001);
        return argument;
    }
    int main(int count, char **words) {
        pthread_t thread;
        for (int round = 0; round < atoi(words[1]); round++) {
            for (int i = 0; i < 100; i++) blocks[i] = malloc(3001);
            if (count > 2) {
                pthread_create(&thread, NULL, replace, NULL);
                pthread_join(thread, NULL);
            } else {
                replace(NULL);
            }
            for (int i = 0; i < 100; i++) free(blocks[i]);
        }
        return 0;
    }"""
ROUNDS = 200


@pytest.mark.parametrize("words", [(), ("thread",)])
def test_blocks_that_a_new_thread_frees_have_been_allocated_before(tmp_path, words):
    program = compile_c("replaces", PROGRAM, ["-O1", "-fno-builtin", "-pthread"])
    done = recorded(tmp_path, "full", program, str(ROUNDS), *words)
    assert done.outcome.status == 0
    assert done.totals.unmatched_frees == 0
    assert {low: objects for low, _, objects, _ in done.recording.sizes()}[3001] == 200 * ROUNDS
    assert 100 <= done.totals.in_use.max_objects <= 110
    payload = done.path.stat().st_size - 2 * 65536
    assert words or payload < 7 * done.totals.events


# Threads with blocks of their own, of which some pass to other threads, in slots. Each thread allocates
# blocks of a size of its own. What is left at the end is counted by size.
SHARING = r"""
    #include <pthread.h>
    #include <stdatomic.h>
    #include <stdio.h>
    #include <stdlib.h>
    enum { THREADS = 4, SLOTS = 16, OWN = 32 };
    static _Atomic(unsigned char *) slots[SLOTS];
    static unsigned char *own[THREADS][OWN];
    static int turns, passing;
    static void *work(void *argument) {
        const unsigned long number = (unsigned long)argument;
        unsigned long state = number * 7919 + 1;
        unsigned char **const mine = own[number];
        for (int turn = 0; turn < turns; turn++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            unsigned char **const slot = &mine[state >> 40 & (OWN - 1)];
            const int kind = state >> 60;
            if (kind < passing) {
                *slot = atomic_exchange(&slots[state >> 50 & (SLOTS - 1)], *slot);
            } else if (kind == 2 && *slot != NULL) {
                *slot = realloc(*slot, 100 + number);
                **slot = number;
            } else {
                free(*slot);
                *slot = malloc(100 + number);
                **slot = number;
            }
        }
        return argument;
    }
    int main(int count, char **words) {
        pthread_t threads[THREADS];
        long left[THREADS] = {0};
        turns = atoi(words[1]);
        passing = atoi(words[2]);
        for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < SLOTS; i++)
            if (slots[i] != NULL) left[*slots[i]]++;
        for (int i = 0; i < THREADS; i++)
            for (int j = 0; j < OWN; j++)
                if (own[i][j] != NULL) left[*own[i][j]]++;
        for (int i = 0; i < THREADS; i++) fprintf(stderr, "%ld ", left[i]);
        return 0;
    }"""


# One arena without caches: most addresses wander. By itself each thread has an arena.
@pytest.mark.parametrize("tunables", ["glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0", ""])
@pytest.mark.parametrize("passing", [0, 2])
def test_blocks_of_threads_that_share_addresses_are_told_apart(tmp_path, tunables, passing):
    program = compile_c("shares", SHARING, ["-O1", "-fno-builtin", "-pthread"])
    environment = {"GLIBC_TUNABLES": tunables} if tunables else {}
    done = recorded(tmp_path, "full", program, "100000", str(passing), environment=environment)
    assert done.outcome.status == 0
    assert done.totals.unmatched_frees == 0
    left = dict.fromkeys(range(100, 104), 0)
    done.recording.events(done.recording.calls(), 1 << 20, partial(count, left), matched=True)
    assert list(left.values()) == [int(word) for word in done.outcome.stderr_tail.split()]
    if not tunables and passing == 0:
        assert done.path.stat().st_size < 5.3 * done.totals.events, (
            "most have no stamp, which takes two bytes"
        )


def count(left, rows):
    """Adds up how many blocks of each size are in use."""
    for kind, size in zip(rows.kinds.tolist(), rows.sizes.tolist(), strict=True):
        if size in left:
            left[size] += 1 if kind == native.EVENT_ALLOCATION else -1


# Each thread frees what the other has just allocated, after so long that the time since its last event does
# not fit into a short record.
PAUSING = r"""
    #include <pthread.h>
    #include <stdatomic.h>
    #include <stdlib.h>
    #include <unistd.h>
    static _Atomic(void *) slot;
    static int rounds;
    static void *take(void *argument) {
        for (int round = 0; round < rounds; round++) {
            void *block;
            while (!(block = atomic_exchange(&slot, NULL))) usleep(100);
            free(block);
        }
        return argument;
    }
    int main(int count, char **words) {
        pthread_t thread;
        rounds = atoi(words[1]);
        pthread_create(&thread, NULL, take, NULL);
        for (int round = 0; round < rounds; round++) {
            usleep(100);
            atomic_store(&slot, malloc(3001));
            while (slot) usleep(10);
        }
        pthread_join(thread, NULL);
        return 0;
    }"""


def test_a_thread_that_pauses_frees_what_another_allocated_before(tmp_path):
    """The stamp by which it gets hold of the address is in the record, also where that is a longer one."""
    program = compile_c("pauses", PAUSING, ["-O1", "-fno-builtin", "-pthread"])
    done = recorded(tmp_path, "full", program, "200")
    assert done.outcome.status == 0
    assert done.totals.unmatched_frees == 0
