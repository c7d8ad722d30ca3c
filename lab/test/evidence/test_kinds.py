"""What a watched program is told apart by: linked allocators, short threads, who runs while others wait."""

from pathlib import Path

import pytest
from building import OUT, compiled
from lab.test.evidence.measuring import measured, needs_perf
from recorded import recorded

from reap.answer import labels

ALLOCATES = """
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <time.h>
    const char said[] = "mimalloc: error: ";
    static double now(void) {
        struct timespec at;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
        return at.tv_sec + at.tv_nsec * 1e-9;
    }
    static volatile unsigned long sink;
    __attribute__((noinline)) void *mi_malloc(unsigned long turns) {
        static char heap[64];
        for (unsigned long i = 0; i < turns; i++) sink += i;
        return heap + turns % 64;
    }
    __attribute__((noinline)) void *compute(unsigned long turns) {
        for (unsigned long i = 0; i < turns; i++) sink += i;
        return (void *)sink;
    }
"""
LINKED = (
    ALLOCATES
    + """
    int main(void) {
        for (double end = now() + 0.25; now() < end;) { mi_malloc(20000); compute(10000); }
        return sink == (unsigned long)said;
    }"""
)
LOCKED = (
    ALLOCATES
    + """
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int inside;
    static void *work(void *unused) {
        for (double end = now() + 0.2; now() < end;) {
            pthread_mutex_lock(&lock);
            for (int i = 0; i < 200; i++) inside ? mi_malloc(20000) : compute(20000);
            pthread_mutex_unlock(&lock);
        }
        return unused;
    }
    int main(int count, char **words) {
        pthread_t threads[3];
        inside = count > 1;
        for (int i = 0; i < 3; i++) pthread_create(threads + i, 0, work, 0);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
        return words[0] == said;
    }"""
)
SHORT = """
    #include <pthread.h>
    #include <stdlib.h>
    #include <time.h>
    static double now(clockid_t clock) {
        struct timespec at;
        clock_gettime(clock, &at);
        return at.tv_sec + at.tv_nsec * 1e-9;
    }
    static void *request(void *unused) {
        for (double end = now(CLOCK_THREAD_CPUTIME_ID) + 2e-4; now(CLOCK_THREAD_CPUTIME_ID) < end;) {
            void *blocks[60];
            for (int i = 0; i < 60; i++) blocks[i] = malloc(1100 + 50 * i);
            for (int i = 0; i < 60; i++) free(blocks[i]);
        }
        return unused;
    }
    int main(void) {
        for (double end = now(CLOCK_PROCESS_CPUTIME_ID) + 0.5; now(CLOCK_PROCESS_CPUTIME_ID) < end;) {
            pthread_t thread;
            pthread_create(&thread, 0, request, 0);
            pthread_join(thread, 0);
        }
        return 0;
    }"""
HANDED = """
    #include <pthread.h>
    #include <stdlib.h>
    static void *blocks[4000];
    static void *give_back(void *unused) {
        for (int i = 0; i < 4000; i++) free(blocks[i]);
        return unused;
    }
    int main(int count, char **words) {
        (void)words;
        for (int turn = 0; turn < 25; turn++) {
            for (int i = 0; i < 4000; i++) blocks[i] = i % 2 ? malloc(3000) : aligned_alloc(64, 640);
            pthread_t thread;
            if (count == 1) { give_back(0); continue; }
            pthread_create(&thread, 0, give_back, 0);
            pthread_join(thread, 0);
        }
        return 0;
    }"""


def program(name: str, text: str, *flags: str) -> str:
    command = ["gcc", "-x", "c", "-g", "-O1", "-fno-builtin", "-w", "-pthread", *flags, "-", "-o", OUT]
    return compiled(name + "".join(flags), command, text=text)


def samples_cpus() -> bool:
    """Whether whole CPUs may be sampled, as short threads need."""
    capabilities = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff")
    )
    held = int(capabilities.split()[1], 16)
    return bool(held >> 38 & 1 or held >> 21 & 1)  # CAP_PERFMON, CAP_SYS_ADMIN


@pytest.mark.timed
@needs_perf
def test_time_in_a_linked_allocator_is_the_allocator_s(tmp_path):
    path = program("linked-mi", LINKED)
    wall = measured(tmp_path, path).wall
    (linked,) = wall.linked
    assert (linked.module, linked.allocator, linked.how, linked.seen) == (path, "mimalloc", "symbols", True)
    assert wall.allocator == "mimalloc"
    assert 0.4 < wall.share.share.value < 0.9
    assert not wall.share.lower_bound
    share = recorded(tmp_path, "triage", path).profile.share  # what reap show and reap run print
    assert share.share.value > 0.4
    assert not share.lower_bound


@pytest.mark.timed
@needs_perf
def test_of_a_stripped_one_the_share_is_a_lower_bound(tmp_path):
    path = program("linked-mi", LINKED, "-s")
    wall = measured(tmp_path, path).wall
    (linked,) = wall.linked
    assert (linked.allocator, linked.how, linked.seen) == ("mimalloc", "text", False)
    assert linked.samples > 0.5 * wall.share.samples
    profile = recorded(tmp_path, "triage", path).profile
    for share in (wall.share, profile.share):
        assert share.lower_bound
        assert labels.share_figure(share) == "unknown"
        assert "without symbols" in labels.share_how(share)


@pytest.mark.timed
@needs_perf
def test_what_runs_while_others_wait_for_a_lock_is_known(tmp_path):
    path = program("locked", LOCKED)
    for words, low, high in (["allocates"], 0.6, 1.0), ([], 0.0, 0.2):
        folder = tmp_path / str(len(words))
        folder.mkdir()
        waiting = measured(folder, path, *words).wall.waiting
        assert low <= waiting.lock_on_allocator.value <= high
        assert low <= waiting.other_on_allocator.value <= high  # the first thread waits for the ends


@pytest.mark.timed
@needs_perf
@pytest.mark.skipif(not samples_cpus(), reason="whole CPUs may not be sampled")
def test_threads_shorter_than_a_period_are_sampled(tmp_path):
    wall = measured(tmp_path, program("short-threads", SHORT)).wall
    assert wall.unsampled < 0.5
    assert wall.share.share.value > 0.3


def test_blocks_that_another_thread_frees_and_aligned_ones_are_told_apart(tmp_path):
    path = program("handed", HANDED)
    for words, low, high in ([], 0.0, 0.1), (["away"], 0.9, 1.0):
        folder = tmp_path / str(len(words))
        folder.mkdir()
        counted = measured(folder, path, *words).wall.counted
        assert low <= counted.freed_elsewhere.value <= high
        assert counted.aligned == 25 * 2000
        assert counted.above_cache == pytest.approx(0.5, abs=0.01)
        assert counted.reallocs == 0
