"""Intervals by ranks: known tables, the test that they invert, and what a disturbed round does to them."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reap.base import ranks
from reap.experiment import sequential, statistics

NORMAL = 1.959964
"""Standard deviations of 95 %."""


@pytest.mark.parametrize(
    ("count", "left_out"),
    [(6, 0), (7, 2), (8, 3), (10, 8), (12, 13), (16, 29), (20, 52), (25, 89), (30, 137)],
)
def test_critical_values_are_those_of_the_tables(count: int, left_out: int) -> None:
    """Of a two-sided 5 %: so many sums of ranks are too low, so many means are left out at each end."""
    values = [float(number * number) for number in range(count)]
    means = sorted((a + b) / 2 for at, a in enumerate(values) for b in values[at:])
    assert ranks.interval(values, NORMAL) == (
        means[left_out],
        pytest.approx((means[(len(means) - 1) // 2] + means[len(means) // 2]) / 2),
        means[-1 - left_out],
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=8, max_size=24, unique_by=abs), st.integers(-800, 800))
def test_it_holds_what_wilcoxons_test_does_not_reject(values: list[int], truth: int) -> None:
    from scipy.stats import wilcoxon

    moved = [value - truth - 0.25 for value in values]  # no ties, no zeros
    if len({abs(each) for each in moved}) < len(moved):
        return
    low, _, high = ranks.interval(values, NORMAL)
    held = low <= truth + 0.25 <= high
    assert held == (wilcoxon(moved, mode="exact").pvalue > 0.05)


def test_many_values_are_as_few_by_the_normal_approximation() -> None:
    chance = random.Random(1)
    values = [chance.gauss(0, 1) for _ in range(400)]
    low, middle, high = ranks.interval(values, NORMAL)
    assert low < middle < high
    assert high - low == pytest.approx(2 * NORMAL / math.sqrt(400), rel=0.1)


@pytest.mark.parametrize(
    ("count", "reach"), [(0, NORMAL), (1, NORMAL), (5, NORMAL), (7, 2.5), (1001, NORMAL)]
)
def test_too_few_values_say_nothing_and_too_many_are_not_sorted(count: int, reach: float) -> None:
    assert ranks.interval([float(number) for number in range(count)], reach) is None


def test_noise_need_not_be_normal() -> None:
    """Of Cauchy's distribution there is no mean."""
    chance = random.Random(2)
    held = 0
    for _ in range(400):
        values = [math.tan(math.pi * (chance.random() - 0.5)) for _ in range(12)]
        low, _, high = ranks.interval(values, NORMAL)
        held += low <= 0 <= high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize("disturbed", [3.167, 0.31])
def test_a_round_whose_core_was_taken_away_hides_no_effect(disturbed: float) -> None:
    """As recorded: 47 rounds of 1.05, and one in which a run took three times as long: inconclusive."""
    chance = random.Random(3)
    pairs = [1.05 * math.exp(chance.gauss(0, 0.01)) for _ in range(47)]
    alone = statistics.typical(pairs, widening=sequential.WIDENING)
    found = statistics.typical([*pairs[:14], disturbed, *pairs[14:]], widening=sequential.WIDENING)
    assert (found.low, found.value, found.high) == pytest.approx(
        (alone.low, alone.value, alone.high), abs=0.002
    )
    assert statistics.verdict(found, worth=sequential.WORTH) == "worse"
    mean = statistics.interval([*pairs, disturbed], widening=sequential.WIDENING)
    assert mean.high - mean.low > 5 * (found.high - found.low)
