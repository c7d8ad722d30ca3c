"""How often a 95 % confidence interval leaves 1 out, on recorded rounds of one allocator against itself.

    .venv/bin/python lab/bench/intervals.py [--resamples 10000] [FILE...]

A file has a ratio of CPU time a line; without one, those in lab/test/intervals are taken: glibc against
itself in 60 rounds of `reap compare --allocators glibc,jemalloc`, at the same time on one of two shared
cores. Which arm is the baseline is chance, so each ratio is resampled with its reciprocal: the truth is 1.

Prints by rounds how many intervals leave it out (5 % are right), and how many experiments have such an
interval at any of these looks: what somebody gets who stops at the first, for which it is not made.
"""

import argparse
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from scipy.special import betaincinv

from reap.experiment import statistics

LOOKS = (3, 5, 8, 12, 20, 32, 50)
RECORDED = Path(__file__).parents[1] / "test" / "intervals"


def left_out(pairs: Sequence[float], resamples: int, seed: int = 1) -> tuple[dict[int, float], float]:
    """The share of intervals without 1 at each look, and the share of experiments with one at any look."""
    chance = random.Random(seed)
    logs = [abs(math.log(pair)) for pair in pairs]
    missed = dict.fromkeys(LOOKS, 0)
    ever = 0
    for _ in range(resamples):
        rounds = [math.exp(chance.choice((-1, 1)) * chance.choice(logs)) for _ in range(LOOKS[-1])]
        wrong = []
        for look in LOOKS:
            found = statistics.typical(rounds[:look])
            if not found.low <= 1 <= found.high:
                wrong.append(look)
                missed[look] += 1
        ever += bool(wrong)
    return {look: count / resamples for look, count in missed.items()}, ever / resamples


def at_most(count: int, of: int) -> float:
    """The upper end of the two-sided binomial 95 % CI (Clopper and Pearson)."""
    return 1.0 if count == of else float(betaincinv(count + 1, of - count, 0.975))


def at_least(count: int, of: int) -> float:
    """Its lower end."""
    return 0.0 if count == 0 else float(betaincinv(count, of - count + 1, 0.025))


def main() -> int:
    """Prints a row for each file."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--resamples", type=int, default=10_000)
    words.add_argument("files", nargs="*", type=Path, default=sorted(RECORDED.glob("*.txt")))
    asked = words.parse_args()
    held = True
    for file in asked.files:
        pairs = [float(line) for line in file.read_text().split()]
        shares, ever = left_out(pairs, asked.resamples)
        text = "  ".join(f"{look}: {share:.1%}" for look, share in shares.items())
        print(
            f"{file.stem:8} {len(pairs)} rounds recorded; left out at  {text}; at any {ever:.1%}", flush=True
        )
        held &= max(shares.values()) <= 0.055
    print("the bar of 5 % (and 0.5 of chance) is held" if held else "the bar is missed")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
