"""What it takes for a gain to be beyond the noise: how often one is found, and after how many rounds.

    .venv/bin/python lab/bench/compare/noise.py [--experiments N]

Simulated experiments that stop at the answer, as `reap compare` does: a baseline that runs twice a round and
an allocator, with the same standard deviation of a run. A gain is found by its interval to each of the two
runs of the baseline (`reap.compare.analyse.beyond_noise`), or as before 26 November 2026, where its interval
had to lie below that of the baseline against itself. Exits with 1 if more than 1 % find a gain where none is.
"""

import argparse
import math
import random
import sys
from collections.abc import Callable

from reap.compare import analyse
from reap.experiment import sequential, statistics
from reap.experiment.metrics import named
from reap.experiment.records import Comparison, Ratio

SPREADS = (0.02, 0.05, 0.10)
EFFECTS = (0.0, 0.05, 0.10, 0.20)

Rule = Callable[[Ratio, Comparison], bool]


def below_its_interval(ratio: Ratio, comparison: Comparison) -> bool:
    """The rule of before."""
    return ratio.ratio.high < min(1.0, comparison.noise["cpu"].ratio.low)


def experiment(chance: random.Random, spread: float, effect: float, rule: Rule) -> tuple[bool, int]:
    """Whether a gain is found, and after how many rounds it ends; the allocator takes `effect` less."""
    runs: list[tuple[float, float, float]] = []
    gain = False
    for end in (*sequential.LOOKS, sequential.MAX_ROUNDS):
        while len(runs) < end:
            first, second, other = (math.exp(chance.gauss(0, spread)) for _ in range(3))
            runs.append((first, second, other * (1 - effect)))
        base, control, own = map(list, zip(*runs, strict=True))
        noise, ratio = (
            statistics.compare(named("cpu"), base, each, widening=sequential.WIDENING, worth=sequential.WORTH)
            for each in (control, own)
        )
        comparison = Comparison(
            workload="",
            command=[],
            baseline="",
            rounds=end,
            sides=[],
            noise={"cpu": noise},
            exit_code=0,
            stdout_varies=False,
            widening=sequential.WIDENING,
        )
        small = ratio.ratio.value > 1 - sequential.WORTH
        gain = not small and rule(ratio, comparison)
        if ratio.verdict != "inconclusive" and (small or gain):
            break
    return gain, len(runs)


def main() -> int:
    """Prints a row for each spread and effect."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--experiments", type=int, default=1500)
    asked = words.parse_args()
    wrong = 0.0
    for spread in SPREADS:
        for effect in EFFECTS:
            said = []
            for rule in (below_its_interval, analyse.beyond_noise):
                chance = random.Random(1)
                ended = [experiment(chance, spread, effect, rule) for _ in range(asked.experiments)]
                found = sum(gain for gain, _ in ended) / len(ended)
                said.append(f"{found:6.1%} in {sum(rounds for _, rounds in ended) / len(ended):.0f} rounds")
            wrong = max(wrong, found if effect == 0 else 0.0)
            print(f"{spread:.0%} a run, {effect:.0%} less:  before {said[0]}  now {said[1]}", flush=True)
    return 1 if wrong > 0.01 else 0


if __name__ == "__main__":
    sys.exit(main())
