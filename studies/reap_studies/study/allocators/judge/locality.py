"""The conclusions of the evaluation of six allocators on locality, each with its rule. Pure functions."""

from collections.abc import Iterator

from reap.api import units
from reap_studies.study import claims
from reap_studies.study.allocators.analyse import (
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
from reap_studies.study.allocators.setups import EVALUATIONS, WITHOUT_FASTBINS, locality, scaling
from reap_studies.study.judging.bounds import Judged, side
from reap_studies.study.records import Conclusion, Evaluated, Finding


def judge(found: Evaluated) -> list[Conclusion]:
    """What section 3.4 says, in the paper's order."""
    rest = others(found)
    most = found.named(locality(max(EVALUATIONS)))
    return claims.of("allocators").judge(
        {
            "dlmalloc-drastically-slower": lambda it: findings(
                _each_locality(found, [LEA], [GLIBC, *rest]), it.judged
            ),
            "locality-matters": lambda it: findings(
                spread(found, locality(max(EVALUATIONS)), [GLIBC, *rest], "time"), it.judged
            ),
            "worse-locality": lambda it: findings(pairs(most, [GLIBC, LEA], rest), it.judged),
            "boundary-tags": lambda it: _tags(found, it.judged),
            "dlmalloc-false-sharing": lambda it: findings(pairs(most, [LEA], [GLIBC]), it.judged),
            "more-alike": lambda _: list(_convergence(found, [LEA, *rest])),
            "allocation-share": lambda it: findings(_allocating(found, [GLIBC, *rest]), it.judged),
        },
        found.allocators,
        claims.Setting(has={"cores": found.threads}),
    )


def _each_locality(found: Evaluated, own: list[str], base: list[str]) -> Iterator[Taken]:
    for times in EVALUATIONS:
        yield from pairs(found.named(locality(times)), own, base)


def _allocating(found: Evaluated, names: list[str]) -> Iterator[Taken]:
    most = locality(max(EVALUATIONS))
    for name in names:
        share = allocating(found.named(most), name) or speedup(found, name, locality(1), most)
        if share:
            yield most, name, share


def _tags(found: Evaluated, judged: Judged) -> list[Finding]:
    alone, without = found.named(scaling(1)), found.named(WITHOUT_FASTBINS)
    if alone is None or without is None:
        return []
    taken: list[Taken] = list(pairs(alone, [LEA], [GLIBC]))
    if ratio := across(without, alone, GLIBC):
        taken.append((WITHOUT_FASTBINS, "glibc without fastbins to glibc", ratio))
    return findings(taken, judged)


def _convergence(found: Evaluated, names: list[str]) -> Iterator[Finding]:
    first, last = (found.named(locality(times)) for times in (min(EVALUATIONS), max(EVALUATIONS)))
    for name in names:
        once, often = between(first, name, GLIBC), between(last, name, GLIBC)
        if once is None or often is None:
            continue
        (least, most), (nearest, farthest) = distance(once), distance(often)
        figure = f"{name} to glibc at 1000 evaluations, {units.ratio(once.value)} at 1"
        stands = side(farthest < least, nearest > most)
        yield Finding(workload=locality(max(EVALUATIONS)), figure=figure, ratio=often, side=stands)
