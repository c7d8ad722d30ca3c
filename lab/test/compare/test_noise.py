"""When a gain is beyond the noise: less than in both runs of the baseline, of which neither may be lucky."""

import math
import random

import msgspec
import pytest
from lab.bench.compare import noise as bench
from samples import comparison_of, exactly_paired, ratio_of, side_of

from reap.compare import analyse


def against(own: float, control: float, spread: float, rounds: int = 20) -> bool:
    """Whether an allocator is beyond the noise that takes so much, as a ratio to the baseline's first run."""
    chance = random.Random(1)
    pairs = [[value * math.exp(chance.gauss(0, spread)) for value in (own, control)] for _ in range(rounds)]
    first, second = (
        bench.statistics.compare(bench.named("cpu"), [1.0] * rounds, list(each))
        for each in zip(*pairs, strict=True)
    )
    held = msgspec.structs.replace(comparison_of([]), noise={"cpu": second})
    return analyse.beyond_noise(first, held)


def test_a_baseline_that_differs_from_itself_makes_no_gain() -> None:
    assert against(0.9, 1.0, 0.02)
    assert not against(0.9, 0.9, 0.02), "its second run took as little"
    assert not against(0.9, 0.85, 0.02)


def test_without_the_same_rounds_it_must_be_below_the_interval_of_the_noise() -> None:
    held = comparison_of([], noise=0.05)
    assert analyse.beyond_noise(ratio_of("cpu", 0.90, 0.03, rounds=14), held)
    assert not analyse.beyond_noise(ratio_of("cpu", 0.94, 0.03, rounds=14), held)


def test_what_may_be_the_second_run_is_within_the_noise() -> None:
    (side,) = (side_of("other", 0.95, 0.01),)
    quiet, loud = comparison_of([side], noise=0.001), comparison_of([side], noise=0.3)
    assert not analyse.within_noise(side.ratios["cpu"], quiet)
    assert analyse.within_noise(side.ratios["cpu"], loud)
    assert analyse.within_noise(exactly_paired(1.0), comparison_of([], noise=0.01))


@pytest.mark.parametrize(
    ("spread", "effect", "at_least", "at_most"),
    [(0.1, 0.0, 0.0, 0.04), (0.05, 0.05, 0.9, 1.0), (0.1, 0.1, 0.9, 1.0)],
)
def test_gains_are_found_and_noise_is_none(
    spread: float, effect: float, at_least: float, at_most: float
) -> None:
    """Seeded. Of the two gains the interval of the noise would hide more than half."""
    chance = random.Random(2)
    ended = [bench.experiment(chance, spread, effect, analyse.beyond_noise) for _ in range(100)]
    assert at_least <= sum(gain for gain, _ in ended) / len(ended) <= at_most
