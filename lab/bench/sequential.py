"""What it costs that rounds stop at the answer: the constant, the errors, and the rounds that are saved.

    .venv/bin/python lab/bench/sequential.py [--experiments 200000] [--resamples 10000] [FILE...]

1. The constant by which intervals are wider than those for a fixed number of rounds
   (`reap.experiment.sequential.WIDENING`): for every end that a budget may give, the 95th percentile of the
   largest |t| over its looks, each in units of its own t quantile. Student's t has no unknown parameter, so
   this holds for any noise that is normal in logarithms.
2. Recorded rounds of one allocator against itself (lab/test/intervals, see lab/bench/intervals.py),
   resampled: experiments in which an interval leaves 1 out at any look (5 % are right), those that end
   *lower* or *higher*, and after how many rounds they end.
3. The same with every ratio moved by some percent: how often the verdict has the right sign, and when.

Exits with 1 where an error is above 5 % (and 0.5 of chance) or the constant is too small.
"""

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from reap.experiment import sequential, statistics

RECORDED = Path(__file__).parents[1] / "test" / "intervals"
EFFECTS = (0.0, 0.02, 0.05, 0.10)


def constants(experiments: int, seed: int = 1) -> Iterator[tuple[int, float]]:
    """For each last round, the constant that its looks need."""
    most = sequential.MAX_ROUNDS
    noise = np.random.default_rng(seed).standard_normal((experiments, most))
    rounds = np.arange(1, most + 1)
    sums, squares = np.cumsum(noise, 1), np.cumsum(noise**2, 1)
    spread = np.maximum(squares - sums**2 / rounds, 0) / np.maximum(rounds - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.abs(sums / rounds) / np.sqrt(spread / rounds)
        scaled /= np.array([math.nan, *(stdtrit(n - 1, 0.975) for n in rounds[1:])])
    for last in range(statistics.LEAST_ROUNDS, most + 1):
        looks = [look for look in sequential.LOOKS if look < last] + [last]
        yield last, float(np.quantile(scaled[:, [look - 1 for look in looks]].max(axis=1), 0.95))


def experiment(logs: Sequence[float], shift: float, chance: random.Random) -> tuple[int, str, bool]:
    """After how many rounds it ends, how, and whether an interval left the truth out at any look."""
    rounds: list[float] = []
    wrong, standing, ends = False, "inconclusive", (*sequential.LOOKS, sequential.MAX_ROUNDS)
    for look in ends:
        rounds += [
            math.exp(shift + chance.choice((-1, 1)) * chance.choice(logs)) for _ in range(look - len(rounds))
        ]
        found = statistics.interval(rounds, widening=sequential.WIDENING)
        wrong |= not found.low <= math.exp(shift) <= found.high
        standing = sequential.standing(found, sequential.WORTH)
        if standing != "inconclusive":
            break
    return len(rounds), standing, wrong


def main() -> int:
    """Prints the constant, then a row for each recording and effect."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--experiments", type=int, default=200_000)
    words.add_argument("--resamples", type=int, default=10_000)
    words.add_argument("files", nargs="*", type=Path, default=sorted(RECORDED.glob("*.txt")))
    asked = words.parse_args()
    needed = dict(constants(asked.experiments))
    last = max(needed, key=lambda end: needed[end])
    held = needed[last] <= sequential.WIDENING + 0.005
    print(
        f"constant needed: {needed[last]:.3f} (an end after {last} rounds); used: {sequential.WIDENING:.2f}"
    )
    chance = random.Random(1)
    for file in asked.files:
        logs = [abs(math.log(float(line))) for line in file.read_text().split()]
        for effect in EFFECTS:
            ended = [experiment(logs, math.log1p(-effect), chance) for _ in range(asked.resamples)]
            wrong = sum(bad for _, _, bad in ended) / len(ended)
            held &= wrong <= 0.055
            ways = Counter(how for _, how, _ in ended)
            text = ", ".join(f"{how} {ways[how] / len(ended):.1%}" for how in sorted(ways))
            when = sorted(rounds for rounds, _, _ in ended)
            middle, late = when[len(when) // 2], when[int(0.95 * len(when))]
            print(
                f"{file.stem:8} {effect:4.0%} less: truth left out {wrong:.1%}; {text}; "
                f"rounds: median {middle}, 95th percentile {late}",
                flush=True,
            )
    print("the bar of 5 % (and 0.5 of chance) is held" if held else "the bar is missed")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
