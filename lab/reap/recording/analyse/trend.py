"""Least-squares trends of memory over time, with intervals that allow for resemblance. Pure functions.

Levels of memory at neighbouring moments resemble each other, so that ordinary regression gives intervals that
are much too narrow. A series is divided into blocks, and the line goes through the means of the blocks. What
resemblance is left between neighbouring blocks is estimated and widens the interval.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar

from reap.base.distributions import student_quantile
from reap.base.records import Estimate
from reap.recording.records import Point

WARM_UP = 0.2
"""The first part of a series: caches fill, pools grow to the size of the load."""
_BLOCKS = 48
_LEAST = 8
"""Blocks of the second half below which nothing is concluded."""
_LAST_QUARTER, _SURELY = 0.5, 0.75
"""Of the second half's slope, what the last quarter's is at least, and its upper bound. Memory that fills up
to a limit flattens."""
_MOST_ALIKE = 0.9


class Timed(Protocol):
    """A moment of a series."""

    @property
    def seconds(self) -> float:
        """Its time."""


Moment = TypeVar("Moment", bound=Timed)


def settled(series: Sequence[Moment]) -> list[Moment]:
    """The series without its warm-up."""
    begin = series[0].seconds + WARM_UP * (series[-1].seconds - series[0].seconds)
    return [each for each in series if each.seconds >= begin]


def blocks(series: Sequence[Moment], count: int) -> list[list[Moment]]:
    """The series divided into `count` blocks of equal length, without those that are empty."""
    begin, length = series[0].seconds, (series[-1].seconds - series[0].seconds) or 1.0
    divided: list[list[Moment]] = [[] for _ in range(count)]
    for each in series:
        divided[min(count - 1, int((each.seconds - begin) / length * count))].append(each)
    return [block for block in divided if block]


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean, of at least one value."""
    all_of = list(values)
    return math.fsum(all_of) / len(all_of)


def rise(points: Sequence[Point]) -> Estimate | None:
    """By how many bytes memory rose in the second half of the time; None unless it rose steadily to the end.

    It rose steadily where the trends behind the warm-up and of the second half are certain, the last quarter
    goes on as the half does, and the end has not fallen back below the middle. None of a series with few
    points, too.
    """
    if len(points) < 2 * _LEAST or points[-1].seconds <= points[0].seconds:
        return None
    parts = blocks(points, _BLOCKS)
    times = [mean(each.seconds for each in block) for block in parts]
    levels = [mean(each.bytes for each in block) for block in parts]
    span = times[-1] - times[0]

    def slope_from(share: float) -> Estimate | None:
        chosen = [at for at, time in enumerate(times) if time >= times[0] + share * span]
        if len(chosen) < 3:  # a line and its error
            return None
        return slope([[times[at] for at in chosen]], [[levels[at] for at in chosen]])

    half = [level for level, time in zip(levels, times, strict=True) if time >= times[0] + span / 2]
    if len(half) < _LEAST or levels[-1] <= half[0]:
        return None
    whole, late, last = (slope_from(share) for share in (WARM_UP, 0.5, 0.75))
    if whole is None or late is None or last is None or min(whole.low, late.low) <= 0:
        return None
    goes_on = last.value >= _LAST_QUARTER * late.value and last.high >= _SURELY * late.value
    return _scaled(late, (points[-1].seconds - points[0].seconds) / 2) if goes_on else None


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    return Estimate(value=estimate.value * factor, low=estimate.low * factor, high=estimate.high * factor)


def slope(times: Sequence[Sequence[float]], levels: Sequence[Sequence[float]]) -> Estimate:
    """The common slope of several series, each with a level of its own, and its 95 % CI.

    At least two values more than series. The residuals' correlation from one to the next is taken to be
    that of an autoregressive process, corrected for the bias that an estimate from so few values has.
    """
    x, y = ([[value - mean(each) for value in each] for each in series] for series in (times, levels))
    square = sum(value * value for each in x for value in each)
    value = _product(x, y) / square
    left = [[b - value * a for a, b in zip(one, other, strict=True)] for one, other in zip(x, y, strict=True)]
    count = sum(map(len, left))
    freedom = count - len(left) - 1
    error = math.sqrt(sum(each * each for series in left for each in series) / freedom / square)
    alike = _alike(left, count)
    fewer = (1 - alike) / (1 + alike)  # values that do not resemble each other, for each that there is
    half = student_quantile(max(2.0, freedom * fewer), 0.975) * error / math.sqrt(fewer)
    return Estimate(value=value, low=value - half, high=value + half)


def _product(x: Sequence[Sequence[float]], y: Sequence[Sequence[float]]) -> float:
    return sum(a * b for one, other in zip(x, y, strict=True) for a, b in zip(one, other, strict=True))


def _alike(residuals: Sequence[Sequence[float]], count: int) -> float:
    """The correlation of a residual with the one before it, 0 where it is negative."""
    squares = sum(each * each for series in residuals for each in series)
    if squares <= 0:
        return 0.0
    found = sum(one * other for series in residuals for one, other in pairwise(series)) / squares
    # Around a fitted line the estimate is too small: by about (2 + 4 r) / n (Kendall 1954; Tanizaki 2000).
    corrected = (found * count + 2) / max(count - 4, 1)
    return min(max(corrected, 0.0), _MOST_ALIKE)
