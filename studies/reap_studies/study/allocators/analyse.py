"""Ratios between allocators and between setups, in pairs of one round each. Pure functions."""

import math
from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Literal

from reap.api import Estimate, statistics
from reap_studies.study.allocators.records import Series, Timed
from reap_studies.study.allocators.setups import PARALLEL
from reap_studies.study.judging.bounds import Judged, side
from reap_studies.study.records import Evaluated, Finding, Side

Field = Literal["time", "wall", "cpu", "resident"]
"""`time` is running time: CPU time of what has one thread, which other work on the machine hardly lengthens;
wall time of what has several, which may wait for each other."""
GLIBC, LEA = "glibc", "dlmalloc"
HARDENED = ("scudo", "hardened-malloc", "hardened-malloc-light")
"""What they give for safety is not what the paper was about: in the tables, and in no conclusion."""
Taken = tuple[str, str, Estimate]
"""The setup, which ratio in words, and the ratio."""


def ratio(
    own: Series | None, base: Series | None, field: Literal["wall", "cpu", "resident"]
) -> Estimate | None:
    """One to the other, round by round; None below two rounds."""
    if own is None or base is None:
        return None
    pairs = [mine / theirs for mine, theirs in zip(getattr(own, field), getattr(base, field), strict=False)]
    if len(pairs) < statistics.LEAST_ROUNDS:
        return None
    return statistics.interval(pairs)


def between(timed: Timed | None, own: str, base: str, field: Field = "time") -> Estimate | None:
    """One allocator to another in a setup."""
    return ratio(timed.of(own), timed.of(base), taken_as(timed, field)) if timed else None


def taken_as(timed: Timed, field: Field) -> Literal["wall", "cpu", "resident"]:
    """Which of the numbers that is in this setup."""
    if field != "time":
        return field
    several = timed.threads > 1 or timed.name == PARALLEL
    return "wall" if several or not any(each.cpu for each in timed.series) else "cpu"


def across(own: Timed, base: Timed, allocator: str) -> Estimate | None:
    """The running time of a setup to that of another with as many threads, under one allocator."""
    return ratio(own.of(allocator), base.of(allocator), taken_as(base, "time"))


def speedup(found: Evaluated, allocator: str, few: str, many: str) -> Estimate | None:
    """The time of a setup to that of another under one allocator."""
    one, other = found.named(few), found.named(many)
    return ratio(one.of(allocator), other.of(allocator), "wall") if one and other else None


def allocating(timed: Timed | None, allocator: str) -> Estimate | None:
    """The share of a setup's time that making and freeing take, as the program says, round by round."""
    own = timed.of(allocator) if timed else None
    if own is None or len(own.phases) < statistics.LEAST_ROUNDS:
        return None
    sums = [[sum(times) for times in zip(*phases, strict=True)] for phases in own.phases]
    return statistics.interval(
        [(making + freeing) / (making + evaluating + freeing) for making, evaluating, freeing in sums]
    )


def quotient(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    """Of two ratios that share no rounds: the widest that their intervals allow."""
    if one is None or other is None:
        return None
    return Estimate(value=one.value / other.value, low=one.low / other.high, high=one.high / other.low)


def extremes(timed: Timed | None, names: Iterable[str], field: Field = "time") -> tuple[str, str] | None:
    """The allocator with most and the one with least, by their geometric means."""
    if timed is None:
        return None
    taken = taken_as(timed, field)
    every = [timed.of(name) for name in names]
    sound = [each for each in every if each is not None and getattr(each, taken)]
    if len(sound) < 2:
        return None
    by_mean = sorted(sound, key=lambda each: fmean(map(math.log, getattr(each, taken))))
    return by_mean[-1].allocator, by_mean[0].allocator


def pairs(
    timed: Timed | None, own: Iterable[str], base: Iterable[str], field: Field = "time"
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


def others(found: Evaluated) -> list[str]:
    """The allocators that are neither glibc's nor dlmalloc nor hardened, the paper's and today's."""
    names = [each.allocator for timed in found.timed for each in timed.series]
    return [name for name in dict.fromkeys(names) if name not in (GLIBC, LEA, *HARDENED)]


def everyone(found: Evaluated) -> list[str]:
    """Those, glibc's and dlmalloc."""
    return [LEA, GLIBC, *others(found)]


def spread(found: Evaluated, setup: str, names: list[str], field: Field) -> Iterator[Taken]:
    """The one with most to the one with least in a setup."""
    timed = found.named(setup)
    ends = extremes(timed, names, field)
    if ends and (ratio := between(timed, *ends, field)):
        yield setup, f"{ends[0]} to {ends[1]}", ratio
