"""Figures that are estimated or measured: their intervals, the share of time, peak memory."""

import math
import statistics

import pytest
from programs import program
from recorded import recorded, recorded_as, target

from reap import native

SEEDS = 40
CALLS = 12000


@pytest.fixture(scope="module")
def triage(tmp_path_factory):
    """Forty triage recordings of the same calls, and one in full depth, which knows the truth."""
    folder = tmp_path_factory.mktemp("triage")
    words = [target("exact"), str(folder / "truth"), "5", str(CALLS)]
    truth = recorded(folder, "full", *words)
    return truth, [recorded(folder, "triage", *words) for _ in range(SEEDS)]


def holds(estimate, truth):
    return estimate.low <= truth <= estimate.high


def test_what_triage_counts_is_the_same_every_time(triage):
    truth, runs = triage
    for done in runs:
        assert (done.objects, done.bytes, done.calls) == (truth.objects, truth.bytes, truth.calls)


def mean_is_unbiased(values, truth):
    """The truth is within four standard errors of the mean."""
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert abs(statistics.mean(values) - truth) <= 4 * error, (statistics.mean(values), truth, error)


def test_estimated_bytes_are_unbiased_while_the_period_is_steered(triage):
    truth, runs = triage
    mean_is_unbiased([sum(stack[3] for stack in done.recording.stacks(100000)) for done in runs], truth.bytes)


@pytest.fixture(scope="module")
def well_sampled(tmp_path_factory):
    """Such calls forty times, with a sample every 16 KB: a few thousand, as a program of seconds gets.

    No block is smaller than 64 B: a sampled block of one byte stands for 16384, so that forty runs mostly
    miss them all, and the spread of what they saw says nothing of what they missed.
    """
    folder = tmp_path_factory.mktemp("well")
    words = [target("exact"), str(folder / "truth"), "5", str(CALLS), "64"]
    truth = recorded(folder, "full", *words)
    options = {"depth": native.TRIAGE, "sampler": native.SAMPLER_NONE, "period_bytes": 1 << 14}
    return truth, [recorded_as(folder, *words, **options) for _ in range(SEEDS)]


def test_estimated_objects_and_bytes_are_unbiased(well_sampled):
    truth, runs = well_sampled
    mean_is_unbiased([done.totals["weight"] for done in runs], truth.objects)
    stacks = [done.recording.stacks(100000) for done in runs]
    mean_is_unbiased([sum(stack[3] for stack in each) for each in stacks], truth.bytes)


def test_estimated_temporaries_are_unbiased(well_sampled):
    truth, runs = well_sampled
    mean_is_unbiased([done.totals["temporary"] for done in runs], truth.totals["temporary"])


def test_what_is_left_at_the_end_is_estimated_without_bias(well_sampled):
    truth, runs = well_sampled
    mean_is_unbiased([done.totals["immortal_objects"] for done in runs], truth.totals["immortal_objects"])
    mean_is_unbiased([done.totals["immortal_bytes"] for done in runs], truth.totals["immortal_bytes"])


def test_intervals_of_peaks_hold_the_truth(well_sampled):
    truth, runs = well_sampled
    bytes_held = sum(holds(done.profile.totals.max_bytes, truth.totals["max_bytes"]) for done in runs)
    objects_held = sum(holds(done.profile.totals.max_objects, truth.totals["max_objects"]) for done in runs)
    # Of 40 at 95 %, fewer than 30 come about once in a hundred thousand times.
    assert bytes_held >= 30, bytes_held
    assert objects_held >= 30, objects_held


def test_intervals_of_temporaries_hold_the_truth(well_sampled):
    truth, runs = well_sampled
    share = truth.totals["temporary"] / truth.objects
    assert sum(holds(done.profile.temporary, share) for done in runs) >= 30


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
