"""The conclusions of the evaluation of six allocators on memory, each with its rule. Pure functions."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from statistics import fmean
from typing import Literal

from reap.base.records import Estimate
from reap.study.allocators.analyse import within
from reap.study.allocators.records import Summary
from reap.study.judging import MARGIN, Extent, Judged, at_least, at_most, conclusion
from reap.study.records import Conclusion, Evaluated, Finding

PLACE = "figure-3"
REPLACING = ("jemalloc", "tcmalloc", "lockless")
"""The three that the paper would put in glibc's place."""
KEEPING = ("dlmalloc", "hoard")
"""Those that gave nothing back there."""
VISIBLE = 0.25
"""Where memory falls by so much between two phases, they can be told apart in a drawing."""
KEPT = 0.9
"""Of the most that was asked for, so much at the end is not to have given it back."""
ALIKE = 0.05
"""Points in time so near to each other, as shares of the run, are one."""


def judge(found: Evaluated) -> list[Conclusion]:
    """What section 3.6 says, in the paper's order."""
    return [
        conclusion(
            "3.6",
            "The five phases can be seen in the memory that glibc and Lockless ask for.",
            "seen in Figure 3",
            "by what share the memory asked for, and resident memory, falls between two phases, on average: "
            "above 0.25 is for it (all runs must agree)",
            _shares(
                found,
                ("glibc", "lockless"),
                [("falls", "asked for"), ("resident_falls", "resident")],
                at_least(VISIBLE),
            ),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.6",
            "Hoard and dlmalloc give no memory back.",
            "seen in Figure 3",
            "memory that is still asked for when all is freed, and what is still resident, to the most: "
            "above 0.90 is for it (all runs must agree)",
            _shares(found, KEEPING, [("last", "asked for"), ("resident_last", "resident")], at_least(KEPT)),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.6",
            "To give nothing back is a poor choice: more is asked for on average.",
            "1.8 times glibc's (dlmalloc), 2.4 times (Hoard)",
            "average memory asked for to that of glibc: above 1.05 is for it (all runs must agree)",
            _ratios(found, ((name, "glibc") for name in KEEPING), "average", at_least(MARGIN)),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.6",
            "dlmalloc and glibc ask for almost the same at most.",
            "151.2 and 150.5 MiB",
            "one to the other: within 1.05 times is for it (all runs must agree)",
            _ratios(found, [("dlmalloc", "glibc")], "maximum", within(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "3.6",
            "jemalloc, tcmalloc and Lockless ask for the same at most.",
            "131.6, 131.6 and 132.9 MiB",
            "each to each other: within 1.05 times is for it (all runs must agree)",
            _ratios(found, combinations(REPLACING, 2), "maximum", within(MARGIN)),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.6",
            "They do so at the same point of the run.",
            "seen in Figure 3",
            "how far apart these points are, as a share of the run: at most 0.05 is for it (all runs "
            "must agree)",
            _apart(found),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
    ]


def drawback(found: Evaluated) -> Conclusion:
    """What section 4 says against the one it prefers."""
    return conclusion(
        "4",
        "Lockless takes a little more memory than jemalloc and tcmalloc.",
        "61.5 MiB on average; 47.1 and 57.4",
        "average memory asked for to that of each: above 1 is for it (all runs must agree)",
        _ratios(found, (("lockless", name) for name in REPLACING[:2]), "average", at_least(1.0)),
        "outdated",
        Extent.NEARLY_ALL,
    )


def to_glibc(found: Evaluated, names: Sequence[str]) -> list[Finding]:
    """Average memory of these to that of glibc: at most 1 is for it."""
    return _ratios(found, ((name, "glibc") for name in names), "average", at_most(1.0))


def _ratios(
    found: Evaluated, wanted: Iterable[tuple[str, str]], field: Literal["average", "maximum"], judged: Judged
) -> list[Finding]:
    return [
        _finding(f"{field} of {one} to {other}", values, judged)
        for one, other in wanted
        if (
            values := _paired(found, one, other, lambda own, base: getattr(own, field) / getattr(base, field))
        )
    ]


def _paired(
    found: Evaluated, one: str, other: str, take: Callable[[Summary, Summary], float | None]
) -> list[float]:
    """What is taken of two allocators' runs, each with the other's of that round."""
    pairs = zip(found.summed(one), found.summed(other), strict=False)
    return [value for own, base in pairs if (value := take(own, base)) is not None]


def _finding(figure: str, values: Sequence[float], judged: Judged) -> Finding:
    """Of some runs: their mean, and from the least to the greatest in the place of an interval."""
    ratio = Estimate(value=fmean(values), low=min(values), high=max(values))
    return Finding(workload=PLACE, figure=figure, ratio=ratio, side=judged(ratio))


def _shares(
    found: Evaluated, names: Iterable[str], fields: Sequence[tuple[str, str]], judged: Judged
) -> list[Finding]:
    findings = []
    for name in names:
        for field, words in fields:
            every = [getattr(each, field) for each in found.summed(name)]
            if known := [value for value in every if value is not None]:
                findings.append(_finding(f"{name}, {words}", known, judged))
    return findings


def _apart(found: Evaluated) -> list[Finding]:
    return [
        _finding(f"{one} and {other}", values, at_most(ALIKE))
        for one, other in combinations(REPLACING, 2)
        if (values := _paired(found, one, other, _distance))
    ]


def _distance(own: Summary, base: Summary) -> float | None:
    return abs(own.peak_at - base.peak_at) if own.peak_at is not None and base.peak_at is not None else None
