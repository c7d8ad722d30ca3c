"""Difference between two runs of the same thing here."""

import statistics

from reap.base.records import Record
from reap.launch import spawn
from reap.launch.records import Launch

_SPIN = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"
"""Some 20 ms of processor and next to no memory, on any machine that has a shell."""

RUNS = 20


class Noise(Record):
    """The spread of one short program that does the same each time."""

    runs: int
    seconds: float
    """Median CPU time of one."""
    variation: float
    """Standard deviation of CPU time over its mean."""
    wall_variation: float


def measure(runs: int = RUNS) -> Noise:
    """Runs a spinning shell `runs` times; takes about a second. Throws ReapError if it cannot be run."""
    launch = Launch(argv=["sh", "-c", _SPIN], program="/bin/sh", timeout=60)
    outcomes = [spawn.run(launch) for _ in range(runs + 1)][1:]
    cpu = [outcome.cpu_ns / 1e9 for outcome in outcomes]
    wall = [outcome.wall_ns / 1e9 for outcome in outcomes]
    return Noise(
        runs=runs,
        seconds=statistics.median(cpu),
        variation=statistics.stdev(cpu) / statistics.fmean(cpu),
        wall_variation=statistics.stdev(wall) / statistics.fmean(wall),
    )
