"""The trend of memory over time, with its confidence interval. Pure functions.

Snapshots a second apart resemble each other, so that ordinary regression over all of them gives intervals
that are much too narrow. Each start is divided into blocks; the trend is a least-squares line through the
means of the blocks, with a level of its own for each start. What resemblance is left between neighbouring
blocks is estimated and widens the interval.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from scipy import stats

from reap.base.records import Estimate
from reap.rss.records import Residence
from reap.soak.records import GROUPS, Snapshot, Soak, Trend

BLOCKS = 24
"""Of all starts together."""
LEAST = 8
"""Blocks below which there is no trend: the resemblance of so few cannot be estimated."""
WARM_UP = 0.2
"""The first part of each start: caches fill, pools grow to the size of the load."""
_HOUR = 3600.0
_MOST_ALIKE = 0.9


def starts(snapshots: Iterable[Snapshot]) -> list[list[Snapshot]]:
    """The snapshots of each process, in order."""
    found: list[list[Snapshot]] = []
    for each in snapshots:
        last = found[-1][-1] if found else None
        if last is None or last.pid != each.pid or last.seconds > each.seconds:
            found.append([])
        found[-1].append(each)
    return found


def long(of: Sequence[Sequence[Snapshot]]) -> float:
    """How long all starts together were observed."""
    return sum(each[-1].seconds - each[0].seconds for each in of)


def summary(of: Sequence[Sequence[Snapshot]], last: Residence | None, available: int) -> Soak:
    """What all starts come to, at least one. `last` was seen of the last one; None: nothing new was."""
    found = trends(of)
    resident = found.pop("resident", None)
    return Soak(
        command=last.command if last else [f"process {of[-1][0].pid}"],
        starts=len(of),
        seconds=long(of),
        warm_up=WARM_UP * long(of),
        snapshots=sum(map(len, of)),
        asked=bool(last.allocator) if last else any(each.groups["live"] for start in of for each in start),
        resident=resident,
        parts=found,
        available=available,
        ended=last.ended if last else "",
        notes=list(last.notes) if last else [],
    )


def settled(start: Sequence[Snapshot]) -> list[Snapshot]:
    """A start without its warm-up."""
    begin = start[0].seconds + WARM_UP * (start[-1].seconds - start[0].seconds)
    return [each for each in start if each.seconds >= begin]


def trends(of: Sequence[Sequence[Snapshot]]) -> dict[str, Trend]:
    """The trend of `resident` and of each group that had a byte; empty where it was too short."""
    kept = [each for each in map(settled, of) if len(each) > 1]
    whole = long(kept)
    if whole <= 0:
        return {}
    blocks = [_blocks(each, max(1, round(BLOCKS * long([each]) / whole))) for each in kept]
    if sum(map(len, blocks)) < LEAST or sum(map(len, blocks)) - len(blocks) < LEAST - 1:
        return {}
    names = [name for name in GROUPS if any(each.groups[name] for start in kept for each in start)]
    return {name: _trend(blocks, name) for name in ["resident", *names]}


_Block = list[Snapshot]


def _blocks(start: Sequence[Snapshot], count: int) -> list[_Block]:
    """As many of equal length; none is empty."""
    begin, length = start[0].seconds, (start[-1].seconds - start[0].seconds) or 1.0
    blocks: list[_Block] = [[] for _ in range(count)]
    for each in start:
        blocks[min(count - 1, int((each.seconds - begin) / length * count))].append(each)
    return [block for block in blocks if block]


def _value(each: Snapshot, name: str) -> float:
    return float(each.resident if name == "resident" else each.groups[name])


def _trend(blocks: Sequence[Sequence[_Block]], name: str) -> Trend:
    levels = [[_mean(_value(each, name) for each in block) for block in start] for start in blocks]
    times = [[_mean(each.seconds for each in block) / _HOUR for block in start] for start in blocks]
    return Trend(per_hour=slope(times, levels), first=levels[0][0], last=levels[-1][-1])


def _mean(values: Iterable[float]) -> float:
    all_of = list(values)
    return math.fsum(all_of) / len(all_of)


def slope(times: Sequence[Sequence[float]], levels: Sequence[Sequence[float]]) -> Estimate:
    """The common slope of several series, each with a level of its own, and its 95 % CI.

    At least three values more than series. The residuals' correlation from one to the next is taken to be
    that of an autoregressive process, corrected for the bias that an estimate from so few values has.
    """
    x = [np.asarray(each) - np.mean(each) for each in times]
    y = [np.asarray(each) - np.mean(each) for each in levels]
    square = sum(float(each @ each) for each in x)
    value = sum(float(one @ other) for one, other in zip(x, y, strict=True)) / square
    left = [other - value * one for one, other in zip(x, y, strict=True)]
    count = sum(map(len, left))
    freedom = count - len(left) - 1
    error = math.sqrt(sum(float(each @ each) for each in left) / freedom / square)
    alike = _alike([each.tolist() for each in left], count)
    fewer = (1 - alike) / (1 + alike)  # values that do not resemble each other, for each that there is
    half = float(stats.t.ppf(0.975, max(2.0, freedom * fewer))) * error / math.sqrt(fewer)
    return Estimate(value=value, low=value - half, high=value + half)


def _alike(residuals: Sequence[Sequence[float]], count: int) -> float:
    """The correlation of a residual with the one before it, 0 where it is negative."""
    squares = sum(each * each for series in residuals for each in series)
    if squares <= 0:
        return 0.0
    found = sum(one * other for series in residuals for one, other in pairwise(series)) / squares
    # Around a fitted line the estimate is too small: by about (2 + 4 r) / n (Kendall 1954; Tanizaki 2000).
    corrected = (found * count + 2) / max(count - 4, 1)
    return min(max(corrected, 0.0), _MOST_ALIKE)
