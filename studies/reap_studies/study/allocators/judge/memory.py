"""The conclusions of the evaluation of six allocators on memory, each with its rule. Pure functions."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from statistics import fmean
from typing import Literal

from reap.api import Estimate
from reap_studies.study import claims
from reap_studies.study.allocators.records import Summary
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.records import Conclusion, Evaluated, Finding

PLACE = "figure-3"
REPLACING = ("jemalloc", "tcmalloc", "lockless")
"""The three that the paper would put in glibc's place."""
KEEPING = ("dlmalloc", "hoard")
"""Those that gave nothing back there."""


def judge(found: Evaluated) -> list[Conclusion]:
    """What section 3.6 says, in the paper's order."""
    return claims.of("allocators").judge(
        {
            "phases-seen": lambda it: _shares(
                found,
                ("glibc", "lockless"),
                [("falls", "asked for"), ("resident_falls", "resident")],
                it.judged,
            ),
            "nothing-returned": lambda it: _shares(
                found, KEEPING, [("last", "asked for"), ("resident_last", "resident")], it.judged
            ),
            "returning-nothing-costs": lambda it: _ratios(
                found, ((name, "glibc") for name in KEEPING), "average", it.judged
            ),
            "glibc-dlmalloc-maximum": lambda it: _ratios(
                found, [("dlmalloc", "glibc")], "maximum", it.judged
            ),
            "three-maxima": lambda it: _ratios(found, combinations(REPLACING, 2), "maximum", it.judged),
            "three-maxima-in-time": lambda it: _apart(found, it.judged),
        },
        found.allocators,
        claims.Setting(has={"cores": found.threads}),
    )


def drawback(found: Evaluated, judged: Judged) -> list[Finding]:
    """What average memory of the one that the paper prefers to that of two others says."""
    return _ratios(found, (("lockless", name) for name in REPLACING[:2]), "average", judged)


def to_glibc(found: Evaluated, names: Sequence[str], judged: Judged) -> list[Finding]:
    """What average memory of these to that of glibc says."""
    return _ratios(found, ((name, "glibc") for name in names), "average", judged)


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


def _apart(found: Evaluated, judged: Judged) -> list[Finding]:
    return [
        _finding(f"{one} and {other}", values, judged)
        for one, other in combinations(REPLACING, 2)
        if (values := _paired(found, one, other, _distance))
    ]


def _distance(own: Summary, base: Summary) -> float | None:
    return abs(own.peak_at - base.peak_at) if own.peak_at is not None and base.peak_at is not None else None
