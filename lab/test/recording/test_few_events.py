"""Programs with few events are recorded exactly in triage; of others what is estimated has an interval."""

import pytest
from programs import compile_c
from recorded import recorded_as, target

from reap import native
from reap.launch.records import Launch
from reap.recording import read, record
from reap.recording.analyse import shares
from reap.recording.analyse.profile import profile
from reap.recording.part import Limits

pytestmark = pytest.mark.bare

# COUNT blocks at two sites, three of four at the first, of which nothing is freed; half by a child of a fork
# with any second word.
SITES = r"""
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    __attribute__((noinline)) void *often(void) { return malloc(24); }
    __attribute__((noinline)) void *seldom(void) { return malloc(40); }
    static void work(int count) {
        for (int i = 0; i < count; i++) i % 4 == 3 ? seldom() : often();
    }
    int main(int words, char **word) {
        int count = atoi(word[1]);
        if (words < 3) {
            work(count);
        } else {
            if (fork() == 0) { work(count / 2); _exit(0); }
            wait(NULL);
            work(count / 2);
        }
        return 0;
    }"""
# THREADS threads hold ten blocks each at a barrier.
WAITING = r"""
    #include <pthread.h>
    #include <stdlib.h>
    static pthread_barrier_t all;
    static void *hold(void *argument) {
        void *blocks[10];
        for (int i = 0; i < 10; i++) blocks[i] = malloc(64);
        pthread_barrier_wait(&all);
        for (int i = 0; i < 10; i++) free(blocks[i]);
        return argument;
    }
    int main(int words, char **word) {
        int threads = atoi(word[1]);
        pthread_t *thread = malloc(threads * sizeof *thread);
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 65536);
        pthread_barrier_init(&all, NULL, threads);
        for (int i = 0; i < threads; i++) if (pthread_create(thread + i, &small, hold, NULL)) return 1;
        for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
        return words - 2;
    }"""


def triage(folder, *argv, **options):
    """What a profile says of a program, recorded as users record it."""
    path = folder / "triage.reap"
    outcome = record.record(Launch(argv=list(argv), program=argv[0]), path, "triage", force=True, **options)
    assert outcome.status == 0
    return profile(read.read(path), [])


# Keeps one block of ten: 40 MB of 400 MB.
KEEPING = r"""
    #include <stdlib.h>
    int main() {
        for (int i = 0; i < 400000; i++) {
            char *block = malloc(i % 2000 + 1);
            *block = 1;
            if (i % 10) free(block);
        }
        return 0;
    }"""


@pytest.fixture(scope="module")
def sites():
    return compile_c("two_sites", SITES, ["-O1", "-g", "-fno-builtin"])


@pytest.mark.parametrize("words", [(), ("fork",)])
def test_every_figure_of_few_events_is_exact(tmp_path, sites, words):
    said = triage(tmp_path, sites, "4000", *words)
    assert (said.depth, said.samples) == ("full", 0)
    parts = {site.function: (site.objects, site.bytes) for site in said.sites}
    assert parts["often"] == (3000, 3000 * 24)
    assert parts["seldom"] == (1000, 1000 * 40)
    assert sum(shares.of_objects(said, site).value for site in said.sites) == pytest.approx(1)
    assert all(shares.of_bytes(said, site).exact for site in said.sites)
    assert said.temporary.exact
    assert said.totals.max_bytes.exact


def test_it_says_the_same_as_full_depth(tmp_path):
    words = [target("exact"), str(tmp_path / "truth"), "7", "20000"]
    said = triage(tmp_path, *words)
    whole = tmp_path / "full.reap"
    record.record(Launch(argv=words, program=words[0]), whole, "full")
    full = profile(read.read(whole), [])
    assert said.totals == full.totals
    assert said.calls == full.calls
    assert said.sizes == full.sizes
    assert said.temporary == full.temporary


def test_latencies_are_sampled_all_the_same(tmp_path):
    said = triage(tmp_path, target("exact"), str(tmp_path / "truth"), "7", "20000")
    assert {each.call for each in said.latencies} >= {"malloc", "free"}
    assert all(each.samples > 0 for each in said.latencies)


def test_many_events_are_sampled(tmp_path, sites):
    said = triage(tmp_path, sites, "2500000")
    assert said.depth == "triage"
    # Counters go on from the first call to the last, whatever is written besides.
    counted = {low: objects for low, _, objects, _ in read.read(tmp_path / "triage.reap").sizes()}
    assert 0 <= counted[24] - 1_875_000 <= 20
    assert 0 <= counted[40] - 625_000 <= 20
    assert (said.sites == []) == (said.samples < shares.ENOUGH_SAMPLES)


def test_shares_of_sampled_sites_add_up_and_have_an_interval(tmp_path, sites):
    sampled = {"depth": native.TRIAGE, "sampler": native.SAMPLER_NONE, "period_bytes": 4096}
    said = recorded_as(tmp_path, sites, "100000", **sampled).profile
    assert said.samples >= shares.ENOUGH_SAMPLES
    assert sum(site.objects for site in said.sites) == pytest.approx(said.totals.total_objects)
    assert sum(site.bytes for site in said.sites) == pytest.approx(said.totals.total_bytes)
    for site in said.sites:
        for held in (shares.of_objects(said, site), shares.of_bytes(said, site)):
            assert 0 <= held.low <= held.value <= held.high <= 1
            assert not held.exact
    assert sum(each.objects for each in said.lifetimes) == pytest.approx(said.totals.total_objects)


@pytest.mark.parametrize("options", [{"max_bytes": 1 << 30}, {"limits": Limits(last_seconds=60.0)}])
def test_a_file_of_bounded_size_has_samples_alone(tmp_path, sites, options):
    assert triage(tmp_path, sites, "4000", **options).depth == "triage"


def test_shares_of_too_few_samples_are_not_told(tmp_path, sites):
    said = triage(tmp_path, sites, "200", exactly=False)
    assert said.samples < shares.ENOUGH_SAMPLES
    assert shares.few_samples(said)
    assert not said.sites
    assert any("--depth full" in note for note in said.notes)


def test_that_no_allocation_was_sampled_is_told(tmp_path, sites):
    never = {"depth": native.TRIAGE, "sampler": native.SAMPLER_NONE, "period_bytes": 1 << 40}
    said = recorded_as(tmp_path, sites, "200", **never).profile
    assert (said.samples, said.totals.total_objects) == (0, 200)
    assert not said.sites
    assert any("--depth full" in note for note in said.notes)
    assert said.totals.max_bytes.low == 0
    assert said.totals.max_bytes.high == said.totals.total_bytes


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize("threads", [20, 100])
def test_what_waiting_threads_have_in_use_is_within_its_bounds(tmp_path, depth, threads):
    program = compile_c("waiting", WAITING, ["-O1", "-fno-builtin", "-pthread"])
    path = tmp_path / "waiting.reap"
    record.record(Launch(argv=[program, str(threads)], program=program), path, depth)
    most = profile(read.read(path), []).totals.max_objects
    assert most.low <= most.value <= most.high
    assert most.high >= 10 * threads
    # Of each thread at most three blocks more or fewer, at most, are not known to be in use.
    assert most.low >= 3 * threads


def test_the_phase_ends_for_all_processes_alike(tmp_path, sites):
    path = tmp_path / "phase.reap"
    argv = [sites, "2500000", "fork"]
    record.record(Launch(argv=argv, program=sites), path, "triage")
    recording = read.read(path)
    assert recording.header().depth == native.TRIAGE
    assert sum(image.objects for image in recording.images()) >= 2_500_000


def test_live_bytes_over_time_are_not_above_the_most_that_were_in_use(tmp_path):
    program = compile_c("keeping", KEEPING, ["-O1", "-fno-builtin"])
    few = {"depth": native.TRIAGE, "sampler": native.SAMPLER_NONE, "period_bytes": 8 << 20}
    for _ in range(20):  # each draws other samples, which often stand for more than was resident
        said = recorded_as(tmp_path, program, **few).profile
        assert max(point.bytes for point in said.live) <= said.totals.max_bytes.value


# DEPTH calls, each of which allocates, on a stack that has room for them whatever the system's is.
RECURSION = r"""
    #include <pthread.h>
    #include <stdlib.h>
    __attribute__((noinline)) static void *deeper(int left) {
        void *volatile block = malloc(24);
        return left > 0 && deeper(left - 1) == NULL ? NULL : block;
    }
    static void *begin(void *depth) { return deeper(atoi(depth)); }
    int main(int words, char **word) {
        pthread_attr_t roomy;
        pthread_t thread;
        void *block = NULL;
        pthread_attr_init(&roomy);
        pthread_attr_setstacksize(&roomy, 64 << 20);
        if (words < 2 || pthread_create(&thread, &roomy, begin, word[1])) return 2;
        pthread_join(thread, &block);
        return block == NULL;
    }"""


def test_deep_recursion_ends_exactness_by_what_its_stacks_cost(tmp_path):
    """Found by a stranger: 0.1 s took 27, as an event's cost was that of a stack of usual depth."""
    program = compile_c("few_events_recursion", RECURSION, ["-O1", "-pthread"])
    assert triage(tmp_path, program, "60").totals.max_bytes.exact
    assert not triage(tmp_path, program, "60000").totals.max_bytes.exact
