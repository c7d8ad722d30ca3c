"""How many rounds would decide an inconclusive comparison, against simulated ones that have them."""

import math
import random
from statistics import fmean, median

import msgspec
import pytest
from samples import comparison_of, side_of

from reap.compare import judge
from reap.experiment import sequential, statistics
from reap.experiment.records import Comparison, Ratio, Side

EXPERIMENTS = 100
LIKELY = 0.7


def ratio(pairs: list[float], widening: float) -> Ratio:
    found = statistics.interval(pairs, widening=widening)
    verdict = statistics.verdict(found, worth=sequential.WORTH)
    return Ratio(
        metric="cpu", unit="s", baseline=1.0, value=found.value, ratio=found, pairs=pairs, verdict=verdict
    )


def simulated(
    effect: float, noise: float, rounds: int, chance: random.Random, widening: float = 1.0
) -> tuple[Side, Comparison]:
    """A comparison of so many rounds, in which the two runs of a pair differ by that standard deviation."""

    def run() -> float:
        return math.exp(chance.gauss(0, noise / math.sqrt(2)))

    runs = [(run(), run(), effect * run()) for _ in range(rounds)]
    own = ratio([other / base for base, _, other in runs], widening)
    control = ratio([second / base for base, second, _ in runs], widening)
    side = side_of("x", rounds=rounds, ratios={"cpu": own})
    drawn = comparison_of([side], rounds=rounds, widening=widening)
    return side, msgspec.structs.replace(drawn, noise={"cpu": control})


def is_open(side: Side, comparison: Comparison) -> bool:
    return judge.standing(side, comparison) is judge.Standing.INCONCLUSIVE


@pytest.mark.parametrize(("effect", "noise"), [(0.95, 0.1), (0.9, 0.2), (1.0, 0.1), (0.97, 0.05)])
def test_it_is_right_within_a_factor_of_two(effect: float, noise: float) -> None:
    chance = random.Random(1)
    ended = [simulated(effect, noise, 10, chance, sequential.WIDENING) for _ in range(EXPERIMENTS)]
    needed = median(
        judge.rounds_needed(side, comparison) or math.inf
        for side, comparison in ended
        if is_open(side, comparison)
    )

    def decides(rounds: float) -> float:
        fresh = [simulated(effect, noise, math.ceil(rounds), chance) for _ in range(EXPERIMENTS)]
        return fmean(not is_open(side, comparison) for side, comparison in fresh)

    assert decides(2 * needed) >= LIKELY
    assert decides(needed / 2) <= LIKELY
