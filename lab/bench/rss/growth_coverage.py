"""How often the interval of `reap rss --hours` holds the true growth.

    .venv/bin/python lab/bench/rss/growth_coverage.py [WATCHES]

Watches of 40 minutes are simulated, with a snapshot a second: memory grows by 2 MiB an hour, beside noise in
which each snapshot resembles the one before it. Prints, for each resemblance, its length beside that of a
block, and the share of intervals that hold the 2 MiB. Seeded: takes some 5 s and always prints the same.
"""

import math
import sys

import numpy as np
from scipy.signal import lfilter

from reap.recording.analyse.trend import slope
from reap.rss.growth.analyse import BLOCKS

SNAPSHOTS = 2400
GROWTH = float(2 << 20)
NOISE = float(1 << 18)
ALIKE = (0, 0.9, 0.98, 0.99, 0.995, 0.998)
"""The correlation of a snapshot with the one before it."""
_HOUR = 3600.0


def held(alike: float, watches: int, snapshots: int = SNAPSHOTS) -> float:
    """The share of intervals that hold the true growth."""
    rng = np.random.default_rng(20261126)
    times = np.array_split(np.arange(snapshots), BLOCKS)
    rising = 100 * 2.0**20 + np.arange(snapshots) * GROWTH / _HOUR
    found = 0
    for _ in range(watches):
        noise = lfilter([1], [1, -alike], rng.normal(size=snapshots + 2000))[2000:]
        levels = rising + NOISE * noise
        interval = slope(
            [[float(block.mean()) / _HOUR for block in times]],
            [[float(levels[block].mean()) for block in times]],
        )
        found += interval.low <= GROWTH <= interval.high
    return found / watches


def main() -> int:
    """Prints the table."""
    watches = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("alike  over, in blocks  intervals that hold the growth")
    for alike in ALIKE:
        over = -1 / math.log(alike) / (SNAPSHOTS / BLOCKS) if alike else 0.0
        print(f"{alike:5}  {over:15.2f}  {held(alike, watches):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
