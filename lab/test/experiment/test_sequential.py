"""Rounds that stop at the answer: what an interval decides, and whether 95 % stays 95 % at every look."""

import math
import random

import pytest
from lab.bench import sequential as bench

from reap.base.records import Estimate
from reap.experiment import sequential, statistics


@pytest.mark.parametrize(
    ("low", "high", "standing"),
    [
        (0.98, 1.02, "equivalent"),
        (0.975, 0.99, "equivalent"),
        (0.96, 0.99, "lower"),
        (1.001, 1.2, "higher"),
        (0.96, 1.01, "inconclusive"),
        (0.97, 1.0, "inconclusive"),
        (1.0, 1.0, "equivalent"),
    ],
)
def test_what_an_interval_decides(low: float, high: float, standing: str) -> None:
    assert sequential.standing(Estimate(value=(low + high) / 2, low=low, high=high), 0.03) == standing


def test_without_a_worth_nothing_is_equivalent() -> None:
    exact = Estimate(value=1, low=1, high=1)
    assert sequential.standing(exact, 0) == "inconclusive"
    assert statistics.verdict(exact) == "inconclusive"
    assert statistics.verdict(exact, worth=0.03) == "equivalent"


def test_a_higher_rate_is_better() -> None:
    more = Estimate(value=1.2, low=1.1, high=1.3)
    assert statistics.verdict(more, worth=0.03, more_is_better=True) == "better"
    assert statistics.verdict(more, worth=0.03) == "worse"


def test_the_widening_is_what_the_looks_need() -> None:
    needed = dict(bench.constants(20_000, [*range(7, 12), 24, 36, 44, sequential.MAX_ROUNDS]))
    worst = max(needed.values())
    assert worst == pytest.approx(sequential.WIDENING, abs=0.02)


@pytest.mark.parametrize(("rounds", "widened"), [(2, False), (6, False), (7, True), (48, True)])
def test_rounds_that_end_before_they_are_looked_at_need_no_wider_intervals(
    rounds: int, widened: bool
) -> None:
    assert sequential.widening(rounds) == (sequential.WIDENING if widened else 1)


def test_intervals_of_all_looks_together_hold_the_truth_95_times_in_100() -> None:
    chance = random.Random(3)
    ends = (*sequential.LOOKS, sequential.MAX_ROUNDS)
    wrong = fixed = 0
    experiments = 1000
    for _ in range(experiments):
        rounds = [math.exp(chance.gauss(0, 0.05)) for _ in range(ends[-1])]
        looks = [statistics.typical(rounds[:end], widening=sequential.WIDENING) for end in ends]
        wrong += not all(found.low <= 1 <= found.high for found in looks)
        plain = [statistics.typical(rounds[:end]) for end in ends]
        fixed += not all(found.low <= 1 <= found.high for found in plain)
    # 5 % and five standard deviations; without the widening it is twice as often.
    assert wrong / experiments < 0.05 + 5 * math.sqrt(0.05 * 0.95 / experiments)
    assert fixed / experiments > 0.09


def test_an_experiment_that_is_decided_ends_at_a_look() -> None:
    logs = [0.001, 0.002, 0.003]
    rounds, standing, wrong = bench.experiment(logs, math.log(0.9), random.Random(1))
    assert (rounds, standing, wrong) == (sequential.LOOKS[0], "lower", False)
