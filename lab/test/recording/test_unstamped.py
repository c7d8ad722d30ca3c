"""Events without a stamp: none after a second thread has begun, so that no order between threads is lost."""

import pytest
from programs import compile_c
from recorded import recorded

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
