"""CPU time that other programs take on the cores that this process may use."""

import os
import resource
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from reap.launch.host import cgroups

STAT = Path("/proc/stat")

_BUSY = (0, 1, 2, 5, 6, 7)
"""Columns of user, nice, system, irq, softirq and steal; guests are in the first two."""
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Moment:
    """Counts of the kernel up to a moment, in seconds."""

    at: float
    cores: int
    busy: float
    """CPU time of all programs on these cores."""
    own: float
    """CPU time of this process and of the children that it has waited for."""


def now(stat: Path = STAT, cores: Collection[int] | None = None) -> Moment:
    """Reads the counters; takes a few tens of microseconds. `cores` are those that this process may use."""
    held = os.sched_getaffinity(0) if cores is None else cores
    names = {f"cpu{core}" for core in held}
    rows = [line.split() for line in cgroups.text(stat).splitlines() if line.startswith("cpu")]
    busy = sum(int(row[1 + column]) for row in rows if row[0] in names for column in _BUSY)
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Moment(
        at=time.monotonic(),
        cores=len(held),
        busy=busy * _TICK,
        own=sum(each.ru_utime + each.ru_stime for each in usage),
    )


def others(before: Moment, after: Moment) -> float | None:
    """Return the share of the cores' time that other programs took between two moments; pure.

    The kernel counts in ticks of 10 ms, so a short time may have a share a little below 0: add such before
    they are cut at 0. None if the kernel counted nothing, as in some sandboxes.
    """
    time_of_cores = (after.at - before.at) * min(before.cores, after.cores)
    if time_of_cores <= 0 or after.busy <= 0:
        return None
    return ((after.busy - before.busy) - (after.own - before.own)) / time_of_cores


def watch() -> Callable[[], float | None]:
    """Return what tells the share of the cores' time that others took since now, as `others` does."""
    begun = now()
    return lambda: others(begun, now())
