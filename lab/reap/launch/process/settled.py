"""Settled memory: what a program's memory is once it does its work. The one definition, and pure functions.

A series is of one run: moments in seconds since its start, in order, each with bytes that hold until the
next moment, and the last until the run ends. Bytes are the proportional set size (PSS) summed over all
processes of the program, so that memory which processes share counts once. Where only resident memory is
known, it stands for that.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

Series = Sequence[tuple[float, float]]
Interval = tuple[int, int]
"""When a program ran that takes turns with others: from and to, in nanoseconds of the monotonic clock."""

Moment = TypeVar("Moment")

FROM = 0.5
"""The part of a run's time from which on its memory counts as settled."""


def settled(series: Series, end: float, begin: float = 0.0) -> float | None:
    """Time-weighted median of the memory in the second half of a run that lasted from `begin` to `end`.

    For half of that time the program had at most so much. What it has only while it starts, for a burst of
    less than a quarter of its time, or while it frees everything at its exit, has no effect. A plain median
    of samples would depend on when they were taken. None of a run without a sample.
    """
    weights = sorted(
        (level, length) for level, length in _held(series, begin + FROM * (end - begin), end) if length > 0
    )
    if not weights:
        return series[-1][1] if series else None
    sums = list(accumulate(length for _, length in weights))
    return weights[min(bisect_left(sums, sums[-1] / 2), len(weights) - 1)][0]


def mean(series: Series, end: float, begin: float = 0.0) -> float | None:
    """Time-weighted mean of the memory of a run. None of a run without a sample."""
    held = list(_held(series, begin, end))
    whole = sum(length for _, length in held)
    if whole <= 0:
        return series[-1][1] if series else None
    return sum(level * length for level, length in held) / whole


def in_turns(series: Series, turns: Sequence[Interval]) -> tuple[Series, float]:
    """The series of a program that took turns, in the time of its own turns alone, and how long these were.

    While it is stopped its memory does not change, and that time is none of its own. The times of `series`
    are in nanoseconds of the monotonic clock.
    """
    begins = [begin for begin, _ in turns]
    before = [0, *accumulate(end - begin for begin, end in turns)]
    own = []
    for at, level in series:
        number = bisect_right(begins, at) - 1
        if number >= 0 and at <= turns[number][1]:
            own.append(((before[number] + at - begins[number]) / 1e9, level))
    return own, before[-1] / 1e9


def thinned(moments: Sequence[Moment], most: int, level: Callable[[Moment], float]) -> list[Moment]:
    """At most so many, evenly over time, the first, the last and that of the highest level among them."""
    if len(moments) <= most:
        return list(moments)
    largest = max(range(len(moments)), key=lambda at: level(moments[at]))
    steps = {round(step * (len(moments) - 1) / (most - 2)) for step in range(most - 1)}
    return [moments[at] for at in sorted(steps | {largest})]


def _held(series: Series, begin: float, end: float) -> Iterator[tuple[float, float]]:
    """Each level within these times, and for how long it was held; the first from `begin` on."""
    if not series:
        return
    times = [begin, *(at for at, _ in series[1:]), max(end, series[-1][0])]
    for (_, level), (start, stop) in zip(series, pairwise(times), strict=True):
        yield level, max(0.0, min(stop, end) - max(start, begin))
