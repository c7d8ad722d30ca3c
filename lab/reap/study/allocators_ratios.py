"""Ratios between allocators and between setups, in pairs of one round each. Pure functions."""

import math
from collections.abc import Iterable, Iterator
from typing import Literal

from reap.experiment import statistics
from reap.records import Estimate
from reap.study.allocators_records import Series, Timed
from reap.study.judging import Judged, side
from reap.study.records import Evaluated, Finding, Side

Field = Literal["wall", "cpu", "resident"]
Taken = tuple[str, str, Estimate]
"""The setup, which ratio in words, and the ratio."""


def ratio(own: Series | None, base: Series | None, field: Field = "wall") -> Estimate | None:
    """One to the other, round by round; None below two rounds."""
    if own is None or base is None:
        return None
    pairs = [mine / theirs for mine, theirs in zip(getattr(own, field), getattr(base, field), strict=False)]
    if len(pairs) < statistics.LEAST_ROUNDS:
        return None
    return statistics.interval(pairs, seed=0)


def between(timed: Timed | None, own: str, base: str, field: Field = "wall") -> Estimate | None:
    """One allocator to another in a setup."""
    return ratio(timed.of(own), timed.of(base), field) if timed else None


def speedup(found: Evaluated, allocator: str, few: str, many: str) -> Estimate | None:
    """The time of a setup to that of another under one allocator."""
    one, other = found.named(few), found.named(many)
    return ratio(one.of(allocator), other.of(allocator)) if one and other else None


def quotient(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    """Of two ratios that share no rounds: the widest that their intervals allow."""
    if one is None or other is None:
        return None
    return Estimate(value=one.value / other.value, low=one.low / other.high, high=one.high / other.low)


def extremes(timed: Timed | None, names: Iterable[str], field: Field = "wall") -> tuple[str, str] | None:
    """The allocator with most and the one with least, by their geometric means."""
    every = [timed.of(name) for name in names] if timed else []
    sound = [each for each in every if each is not None and getattr(each, field)]
    if len(sound) < 2:
        return None
    by_mean = sorted(
        sound, key=lambda each: sum(map(math.log, getattr(each, field))) / len(getattr(each, field))
    )
    return by_mean[-1].allocator, by_mean[0].allocator


def pairs(
    timed: Timed | None, own: Iterable[str], base: Iterable[str], field: Field = "wall"
) -> Iterator[Taken]:
    """Each of the first to each of the others in a setup."""
    bases = list(base)
    for one in own:
        for other in bases:
            if timed and one != other and (found := between(timed, one, other, field)):
                yield timed.name, f"{one} to {other}", found


def findings(taken: Iterable[Taken], judged: Judged) -> list[Finding]:
    """What each says."""
    return [
        Finding(workload=setup, figure=figure, ratio=found, side=judged(found))
        for setup, figure, found in taken
    ]


def within(times: float) -> Judged:
    """For it where the greater is at most so many times the other, against it where it is more."""

    def judged(found: Estimate) -> Side:
        inside = found.low >= 1 / times and found.high <= times
        return side(inside, found.high < 1 / times or found.low > times)

    return judged


def distance(found: Estimate) -> tuple[float, float]:
    """How far a ratio is from 1, as a logarithm: at least and at most."""
    ends = [abs(math.log(found.low)), abs(math.log(found.high))]
    return (0.0 if found.low <= 1 <= found.high else min(ends)), max(ends)
