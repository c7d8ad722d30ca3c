"""The conclusions of the evaluation of six allocators on locality, each with its rule. Pure functions."""

from collections.abc import Iterator

from reap.study.allocators.analyse import (
    GLIBC,
    LEA,
    Taken,
    across,
    allocating,
    between,
    distance,
    findings,
    others,
    pairs,
    speedup,
    spread,
)
from reap.study.allocators.setups import EVALUATIONS, WITHOUT_FASTBINS, locality, scaling
from reap.study.judging import MARGIN, Extent, at_least, at_most, conclusion, side
from reap.study.records import Conclusion, Evaluated, Finding

DRASTIC = 1.5
"""So many times as long as every other took dlmalloc at least (Table 2)."""
SMALL = 0.01
"""What allocation takes at most of the time, as the paper says."""
LESS = 0.95
"""Not much less than the other."""


def judge(found: Evaluated) -> list[Conclusion]:
    """What section 3.4 says, in the paper's order."""
    rest = others(found)
    most = found.named(locality(max(EVALUATIONS)))
    return [
        conclusion(
            "3.4",
            "dlmalloc is drastically slower than every other where all cores allocate.",
            "1.5 times glibc at 1000 evaluations to 13 times Lockless at 1",
            "running time over dlmalloc to that over each other, at each number of evaluations: above 1.5 is "
            "for it",
            findings(_each_locality(found, [LEA], [GLIBC, *rest]), at_least(DRASTIC)),
            "outdated",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.4",
            "The locality of allocated blocks makes a difference to running time.",
            "89.7 to 107.4 s at 1000 evaluations, dlmalloc left out",
            "running time at 1000 evaluations over the slowest to that over the fastest, dlmalloc and "
            "hardened ones left out: above 1.10 is for it",
            findings(spread(found, locality(max(EVALUATIONS)), [GLIBC, *rest], "time"), at_least(1.10)),
            "does not hold",
        ),
        conclusion(
            "3.4",
            "Blocks of glibc and of dlmalloc have worse locality than those of others.",
            "1.14 to 1.20 times (glibc), 1.74 to 1.82 times (dlmalloc) the others' time at 1000 evaluations",
            "running time at 1000 evaluations over each of the two to that over each other: above 1.05 is "
            "for it",
            findings(pairs(most, [GLIBC, LEA], rest), at_least(MARGIN)),
            "outdated",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.4",
            "The reason is that free blocks are kept in lists with boundary tags.",
            "assumed there",
            "both have these. For it where dlmalloc is as slow as glibc on one thread, where no lock matters "
            "(above 0.95), and where glibc is so without its fastbins, which are not joined by their tags",
            _tags(found),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.4",
            "dlmalloc is slow even where hardly anything is allocated, perhaps by false sharing.",
            "1.52 times glibc's time at 1000 evaluations on four cores",
            "running time over dlmalloc to that over glibc at 1000 evaluations: above 1.05 is for it",
            findings(pairs(most, [LEA], [GLIBC]), at_least(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "3.4",
            "With more evaluations the allocators become more alike.",
            "to glibc: jemalloc from 0.67 to 0.84, dlmalloc from 7.2 to 1.5",
            "ratio of running time to that over glibc: for it where that at 1000 evaluations is nearer to 1 "
            "than that at 1, against it where it is farther",
            list(_convergence(found, [LEA, *rest])),
            "does not hold",
        ),
        conclusion(
            "3.4",
            "At 1000 evaluations allocation takes less than 1 % of the time, but for dlmalloc.",
            "0.4 to 0.8 %; dlmalloc 2.8 %",
            "share of the time at 1000 evaluations that making and freeing take (in the paper: running time "
            "with 1 evaluation, which is more than that, to that with 1000): at most 0.01 is for it",
            findings(_allocating(found, [GLIBC, *rest]), at_most(SMALL)),
            "does not hold",
        ),
    ]


def _each_locality(found: Evaluated, own: list[str], base: list[str]) -> Iterator[Taken]:
    for times in EVALUATIONS:
        yield from pairs(found.named(locality(times)), own, base)


def _allocating(found: Evaluated, names: list[str]) -> Iterator[Taken]:
    most = locality(max(EVALUATIONS))
    for name in names:
        share = allocating(found.named(most), name) or speedup(found, name, locality(1), most)
        if share:
            yield most, name, share


def _tags(found: Evaluated) -> list[Finding]:
    alone, without = found.named(scaling(1)), found.named(WITHOUT_FASTBINS)
    if alone is None or without is None:
        return []
    taken: list[Taken] = list(pairs(alone, [LEA], [GLIBC]))
    if ratio := across(without, alone, GLIBC):
        taken.append((WITHOUT_FASTBINS, "glibc without fastbins to glibc", ratio))
    return findings(taken, at_least(LESS))


def _convergence(found: Evaluated, names: list[str]) -> Iterator[Finding]:
    first, last = (found.named(locality(times)) for times in (min(EVALUATIONS), max(EVALUATIONS)))
    for name in names:
        once, often = between(first, name, GLIBC), between(last, name, GLIBC)
        if once is None or often is None:
            continue
        (least, most), (nearest, farthest) = distance(once), distance(often)
        figure = f"{name} to glibc at 1000 evaluations, {once.value:.3f} at 1"
        stands = side(farthest < least, nearest > most)
        yield Finding(workload=locality(max(EVALUATIONS)), figure=figure, ratio=often, side=stands)
