"""When a limit is exceeded: the rate of false alarms."""

import numpy as np
import pytest
from msgspec.structs import replace

from reap.base.records import Estimate, exactly
from reap.check import judge
from reap.check.records import Baseline, Limit, Measured
from reap.diff.judge import understood
from reap.recording.records import Coverage

CHECKS = 50_000
RUNS = 10


WHOLE = Coverage(processes=1, recorded=1, anonymous=0, live=0, unrecorded=[], cut=[])


def run_of(peak: float | Estimate) -> Measured:
    held = peak if isinstance(peak, Estimate) else exactly(peak)
    return Measured(
        program="p",
        seconds=1,
        figures={"peak": held, "allocations": exactly(1)},
        places={},
        suppressed=[],
        notes=[],
        coverage=WHOLE,
    )


def limit_of(most: float) -> Limit:
    return Limit(figure="peak", text="x", most=most, growth=False)


def failures(values: np.ndarray, most: np.ndarray) -> int:
    """How many checks fail; the rows are those that could, found faster than by a call for each."""
    over = np.flatnonzero((values > most[:, None]).all(axis=1))
    for row in over:
        assert judge.judged(limit_of(most[row]), [run_of(x) for x in values[row]]).verdict == "exceeded"
    for row in range(200):
        expected = row in over
        found = judge.judged(limit_of(most[row]), [run_of(x) for x in values[row]]).verdict == "exceeded"
        assert found == expected
    return len(over)


@pytest.mark.parametrize("name", ["normal", "heavy", "two"])
def test_noise_fails_less_than_one_check_in_a_thousand(name):
    """The worst program that is within its budget: its median is the limit itself."""
    draw = np.random.default_rng(7)
    shape = (CHECKS, RUNS)
    values = {
        "normal": lambda: draw.normal(100, 5, shape),
        "heavy": lambda: 100 + draw.standard_cauchy(shape),
        "two": lambda: np.where(draw.random(shape) < 0.5, 99.0, 1000.0),
    }[name]()
    found = failures(values, np.full(CHECKS, 100.0))
    # A rate of 2**-10 has 48.8 of these on average and a standard deviation of 7.
    assert 20 < found < CHECKS / 1000 + 28
    assert 0.5**RUNS < 1 / 1000


def test_an_unchanged_build_fails_its_baseline_less_than_one_check_in_a_thousand():
    """With no room at all for growth."""
    draw = np.random.default_rng(8)
    before, after = draw.normal(100, 5, (CHECKS, RUNS)), draw.normal(100, 5, (CHECKS, RUNS))
    assert failures(after, before.max(axis=1)) < CHECKS / 1000
    baseline = Baseline(reap_version="x", command=[], depth="full", runs=[{"peak": x} for x in before[0]])
    assert judge.growth(understood("peak > +0 %"), baseline).most == before[0].max()


def test_a_program_over_its_budget_always_fails():
    runs = [run_of(value) for value in (101, 150, 100.5)]
    assert judge.judged(limit_of(100), runs).verdict == "exceeded"
    assert not judge.settled([limit_of(100)], runs)
    assert judge.settled([limit_of(100.5)], runs)
    assert judge.settled([limit_of(200), limit_of(100.5)], runs)


def test_an_estimate_exceeds_only_with_its_whole_interval():
    """At 99.9 %: 1.68 times as far below as the 95 % CI."""
    sure, unsure = Estimate(value=120, low=109, high=131), Estimate(value=120, low=107, high=131)
    assert judge.judged(limit_of(100), [run_of(sure)]).verdict == "exceeded"
    assert judge.judged(limit_of(100), [run_of(unsure)]).verdict == "inconclusive"
    assert judge.judged(limit_of(131), [run_of(unsure)]).verdict == "kept"


def test_what_was_not_measured_is_not_kept():
    lost = replace(run_of(100), missing=["Nothing was recorded of busybox."])
    assert judge.judged(limit_of(100), [lost]).verdict == "not measured"
    assert judge.judged(limit_of(99), [lost]).verdict == "exceeded"
    assert judge.judged(limit_of(100), [lost, run_of(100)]).verdict == "kept"
    assert judge.judged(limit_of(99), [lost, run_of(99)]).verdict == "kept"
