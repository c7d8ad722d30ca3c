"""Figures that are estimated or measured: their intervals, the share of time, peak memory."""

import math
import statistics

import chance
import pytest
from building import OUT, compiled
from lab.test.recording.test_exact import Truth
from programs import program
from recorded import recorded, recorded_as, target

from reap import native
from reap.recording.analyse import profile

SEEDS = 40
CALLS = 12000
OFTEN = 1 << 10
SLACK = 16
"""What lab/preload/common/poisson.h adds to each object's size."""


@pytest.fixture(scope="module", autouse=True)
def _unnamed():
    """Sites are not looked up: their names are in no test here, and take most of the time of a profile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile, "usage", lambda *_: ([], [], None))
        yield


@pytest.fixture(scope="module")
def triage(tmp_path_factory):
    """Forty triage recordings of the same calls, and one in full depth, which knows the truth."""
    folder = tmp_path_factory.mktemp("triage")
    words = [target("exact"), str(folder / "truth"), "5", str(CALLS)]
    truth = recorded(folder, "full", *words)
    return truth, [recorded(folder, "triage", *words) for _ in range(SEEDS)]


def holds(estimate, truth):
    return estimate.low <= truth <= estimate.high


@pytest.mark.slow
def test_what_triage_counts_is_the_same_every_time(triage):
    truth, runs = triage
    for done in runs:
        assert (done.objects, done.bytes, done.calls) == (truth.objects, truth.bytes, truth.calls)


@pytest.mark.timed
def test_estimated_bytes_are_unbiased_while_the_period_is_steered(triage):
    truth, runs = triage
    # The period follows the clock, so the variance is known from the runs alone. No term of a sum is heavy.
    values = [sum(stack[3] for stack in done.recording.stacks(100000)) for done in runs]
    assert abs(statistics.mean(values) - truth.bytes) <= chance.of_mean(values), (values, truth.bytes)


def sampled_every(folder, period, times):
    """Such calls so many times with a sample every `period` bytes: the truth, what was recorded, the sizes.

    No block is smaller than 64 B: a sampled block of one byte stands for very many, which runs mostly miss.
    """
    words = [target("exact"), str(folder / "truth"), "5", str(CALLS), "64"]
    truth = recorded(folder, "full", *words)
    options = {"depth": native.TRIAGE, "sampler": native.SAMPLER_NONE, "period_bytes": period}
    return truth, [recorded_as(folder, *words, **options) for _ in range(times)], Truth(folder / "truth")


@pytest.fixture(scope="module")
def well_sampled(tmp_path_factory):
    """Forty times a thousand samples, as a program of seconds gets."""
    return sampled_every(tmp_path_factory.mktemp("well"), 1 << 14, SEEDS)


@pytest.fixture(scope="module")
def often_sampled(tmp_path_factory):
    """So often that ten runs bound the mean as well as forty of four times the period would."""
    return sampled_every(tmp_path_factory.mktemp("often"), OFTEN, 10)


def sum_is_unbiased(values, sizes, worth=lambda _: 1):
    """What was estimated in all runs together is the truth, but for what sampling may do to it.

    `sizes` are the objects that were estimated, `worth` what an object of a size counts. An object is sampled
    with a known probability, independent of all others, and then stands for the inverse of it.
    """
    truth = variance = largest = 0
    for size, count in sizes.items():
        sampled = -math.expm1(-(size + SLACK) / OFTEN)
        truth += count * worth(size)
        variance += count * worth(size) ** 2 * (1 - sampled) / sampled
        largest = max(largest, worth(size) * max(1, 1 / sampled - 1))
    bound = chance.of_sum(len(values) * variance, largest)
    assert abs(sum(values) - len(values) * truth) <= bound, (sum(values) / len(values), truth, bound)
    assert bound < 0.3 * len(values) * truth, "it says something"


@pytest.mark.timed
def test_estimated_objects_and_bytes_are_unbiased(often_sampled):
    _, runs, truth = often_sampled
    sum_is_unbiased([done.totals.weight for done in runs], truth.sizes)
    stacks = [done.recording.stacks(100000) for done in runs]
    sum_is_unbiased([sum(stack[3] for stack in each) for each in stacks], truth.sizes, worth=int)


@pytest.mark.timed
def test_estimated_temporaries_are_unbiased(often_sampled):
    _, runs, truth = often_sampled
    sum_is_unbiased([done.totals.temporary for done in runs], truth.temporary)


@pytest.mark.timed
def test_what_is_left_at_the_end_is_estimated_without_bias(often_sampled):
    _, runs, truth = often_sampled
    sum_is_unbiased([done.totals.immortal_objects for done in runs], truth.left)
    sum_is_unbiased([done.totals.immortal_bytes for done in runs], truth.left, worth=int)


@pytest.mark.slow
@pytest.mark.timed
def test_intervals_of_peaks_hold_the_truth(well_sampled):
    truth, runs, _ = well_sampled
    bytes_held = sum(holds(done.profile.totals.max_bytes, truth.totals.in_use.max_bytes) for done in runs)
    objects_held = sum(
        holds(done.profile.totals.max_objects, truth.totals.in_use.max_objects) for done in runs
    )
    # The highest of many estimates is a little too high: of 200 runs 187 held the truth, and not 190.
    assert bytes_held >= chance.fewest(SEEDS, 0.9), bytes_held
    assert objects_held >= chance.fewest(SEEDS), objects_held


@pytest.mark.timed
def test_intervals_of_temporaries_hold_the_truth(well_sampled):
    truth, runs, _ = well_sampled
    share = truth.totals.temporary / truth.objects
    assert sum(holds(done.profile.temporary, share) for done in runs) >= chance.fewest(SEEDS)


def test_a_peak_is_never_estimated_above_what_was_counted(triage):
    _, runs = triage
    for done in runs:
        totals = done.profile.totals
        assert totals.max_objects.high <= totals.total_objects
        assert totals.max_bytes.high <= totals.total_bytes


@pytest.mark.parametrize("megabytes", [0, 5, 60])
@pytest.mark.parametrize("depth", ["triage", "full"])
def test_peak_memory_of_a_recorded_program_is_its_own(tmp_path, megabytes, depth):
    # What the recorder itself maps is small, and the same for every program.
    plain = recorded(tmp_path, depth, program("peak"), str(megabytes))
    truth = int(plain.outcome.stderr_tail)
    assert abs(plain.outcome.peak_resident - truth) < 1 << 20
    seen = max((point.bytes for point in plain.profile.resident), default=0)
    assert seen <= plain.outcome.peak_resident + (1 << 20)


TOGETHER = r"""
#include <pthread.h>
#include <stdlib.h>
#define THREADS 4
#define BLOCKS 25000
static void *slots[THREADS][BLOCKS];
static void *fill(void *number) {
    for (int i = 0; i < BLOCKS; ++i) slots[(long)number][i] = malloc(48);
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], 0, fill, (void *)i);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], 0);
    for (int i = 0; i < THREADS * BLOCKS; i += 2) free(slots[i % THREADS][i / THREADS]);
    for (int i = 0; i < 300; ++i) free(malloc(100));
    return 0;
}
"""

CHURN = r"""
#include <pthread.h>
#include <stdlib.h>
static void *churn(void *number) {
    void *held[500] = {0};
    unsigned long x = (unsigned long)number * 7919 + 1;
    for (int i = 0; i < 400000; ++i) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        free(held[x % 500]);
        held[x % 500] = malloc(1100 + (x >> 32) % 4096);
        *(char *)held[x % 500] = 1;
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; ++i) pthread_create(&threads[i], 0, churn, (void *)(i + 1));
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    return 0;
}
"""


def in_threads(name, text):
    words = ["gcc", "-x", "c", "-O1", "-w", "-fno-builtin", "-pthread", "-", "-o", OUT]
    return compiled(name, words, text=text)


def test_the_interval_of_most_in_use_holds_the_truth_of_threads(tmp_path):
    path = in_threads("together", TOGETHER)
    truth = recorded(tmp_path, "full", path).totals.in_use.max_objects
    assert truth >= 100_000
    for _ in range(5):
        done = recorded(tmp_path, "triage", path)
        seen = done.profile.totals.max_objects
        assert holds(seen, truth), (seen, truth)
        assert seen.low <= seen.value <= seen.high <= done.objects
        (process,) = done.profile.processes
        assert holds(process.totals.max_objects, truth)


def test_most_bytes_in_use_is_not_far_above_what_is_resident(tmp_path):
    # Two thousand blocks of 3 KB are in use, 6 MB; each sample stands for many times as much.
    done = recorded(tmp_path, "triage", in_threads("churn", CHURN))
    resident = max(point.bytes for point in done.profile.resident)
    seen = done.profile.totals.max_bytes
    assert seen.high <= resident + seen.low
    assert seen.value <= seen.high
