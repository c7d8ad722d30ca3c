"""The conclusions of the evaluation of six allocators, each with its rule: times. Pure functions."""

from collections.abc import Iterator

from reap.records import Estimate
from reap.study import allocators_memory_claims as memory
from reap.study.allocators_ratios import (
    Field,
    Taken,
    across,
    allocating,
    between,
    distance,
    extremes,
    findings,
    pairs,
    quotient,
    speedup,
    within,
)
from reap.study.allocators_setups import (
    APPLICATIONS,
    EVALUATIONS,
    PARALLEL,
    WITHOUT_FASTBINS,
    locality,
    scaling,
)
from reap.study.judging import MARGIN, Extent, at_least, at_most, conclusion, side
from reap.study.records import Conclusion, Evaluated, Finding

GLIBC, LEA, BEST = "glibc", "dlmalloc", "lockless"
HARDENED = ("scudo", "hardened-malloc", "hardened-malloc-light")
"""What they give for safety is not what the paper was about: in the tables, and in no conclusion."""
SIMILAR = 1.15
"""The paper's allocators, dlmalloc left out, were within 12 % of glibc on its applications."""
DRASTIC = 1.5
"""So many times as long as every other took dlmalloc at least (Table 2)."""
WELL = 0.85
"""Of a speedup as great as the number of threads, what the paper says scales very well."""
SMALL = 0.01
LESS = 0.95


def judge(found: Evaluated) -> list[Conclusion]:
    """Every conclusion, in the paper's order."""
    return [*_applications(found), *_locality(found), *_scaling(found), *memory.judge(found), *_last(found)]


def others(found: Evaluated) -> list[str]:
    """The allocators that are neither glibc's nor dlmalloc nor hardened, the paper's and today's."""
    names = [each.allocator for timed in found.timed for each in timed.series]
    return [name for name in dict.fromkeys(names) if name not in (GLIBC, LEA, *HARDENED)]


def _all_of(found: Evaluated) -> list[str]:
    return [LEA, GLIBC, *others(found)]


def _applications(found: Evaluated) -> list[Conclusion]:
    parallel = found.named(PARALLEL)
    rest = others(found)
    return [
        conclusion(
            "3.2",
            "Which allocator it is makes a difference of more than 40 % to the time of perl on all cores.",
            "19.6 to 28.3 s",
            "running time over the slowest to that over the fastest, hardened ones left out: above 1.40 is "
            "for it",
            findings(_spread(found, PARALLEL, _all_of(found), "time"), at_least(1.40)),
            "does not hold",
        ),
        conclusion(
            "3.2",
            "And of more than 30 % to its memory.",
            "387 to 520 MiB",
            "most resident memory over the greediest to that over the most sparing, hardened ones left out: "
            "above 1.30 is for it",
            findings(_spread(found, PARALLEL, _all_of(found), "resident"), at_least(1.30)),
            "does not hold",
        ),
        conclusion(
            "3.2",
            "But for dlmalloc the allocators are much the same to perl, gcc and sed.",
            "0.91 to 1.12 times glibc's time",
            "running time over each other to that over glibc: within 1.15 times either way is for it",
            findings(
                (one for name in APPLICATIONS for one in pairs(found.named(name), rest, [GLIBC])),
                within(SIMILAR),
            ),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.2",
            "dlmalloc is slow when perl has all cores.",
            "28.3 s, and 20.8 s over glibc",
            "running time over dlmalloc to that over glibc: above 1.05 is for it",
            findings(pairs(parallel, [LEA], [GLIBC]), at_least(MARGIN)),
            "outdated",
        ),
        conclusion(
            "3.2",
            "dlmalloc takes the least memory for it.",
            "387 MiB; the others 404 to 520",
            "most resident memory over each other to that over dlmalloc: above 1 is for it, below against it",
            findings(
                pairs(parallel, [GLIBC, *rest], [LEA], "resident"),
                lambda ratio: side(ratio.low > 1, ratio.high < 1),
            ),
            "outdated",
            Extent.NEARLY_ALL,
        ),
    ]


def _locality(found: Evaluated) -> list[Conclusion]:
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
            findings(_spread(found, locality(max(EVALUATIONS)), [GLIBC, *rest], "time"), at_least(1.10)),
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


def _scaling(found: Evaluated) -> list[Conclusion]:
    rest, many = others(found), found.threads
    mean = f"with {many} threads" if many > 1 else "which need more than one core"
    return [
        conclusion(
            "3.5",
            "All but dlmalloc and glibc scale very well.",
            "3.6 to 3.8 times as fast with four threads",
            f"speedup {mean}, as a share of their number: above 0.85 is for it",
            findings(_speedups(found, rest, of=float(many)), at_least(WELL)) if many > 1 else [],
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.5",
            "glibc scales, but less than the others.",
            "1.93 times as fast with four threads",
            f"speedup {mean}: of each other to that of glibc above 1.05, and that of glibc above "
            "1.05, are for it",
            [
                *findings(_speedups(found, [GLIBC]), at_least(MARGIN)),
                *findings(_to_glibc(found, rest), at_least(MARGIN)),
            ]
            if many > 1
            else [],
            "outdated",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.5",
            "dlmalloc does not scale at all.",
            "half as fast with four threads as with one",
            f"speedup {mean}: at most 1.05 is for it",
            findings(_speedups(found, [LEA]), at_most(MARGIN)) if many > 1 else [],
            "outdated",
        ),
        conclusion(
            "3.5",
            "glibc, which has arenas, is less efficient than what has storage of each thread.",
            "1.8 times tcmalloc's time, 2.4 times Lockless's",
            f"running time {mean} over glibc to that over each other: above 1.05 is for it",
            findings(pairs(found.named(scaling(many)), [GLIBC], rest), at_least(MARGIN)) if many > 1 else [],
            "outdated",
            Extent.NEARLY_ALL,
        ),
    ]


def _last(found: Evaluated) -> list[Conclusion]:
    """What its section 4 concludes."""
    replacing = [name for name in memory.REPLACING if name in others(found)]
    setups = [*(locality(times) for times in EVALUATIONS), scaling(found.threads)]
    rivals = [GLIBC, LEA, *others(found)]
    return [
        conclusion(
            "4",
            "Lockless is the fastest.",
            "in every column of Tables 2 and 3",
            "running time over Lockless to that over each other, in Tables 2 and 3: at most 1 is for it",
            findings(
                (one for name in [*setups, scaling(1)] for one in pairs(found.named(name), [BEST], rivals)),
                at_most(1.0),
            ),
            "outdated",
            Extent.NEARLY_ALL,
        ),
        memory.drawback(found),
        conclusion(
            "4",
            "jemalloc, tcmalloc and Lockless can take glibc's place: they are faster and take less memory.",
            "0.54 to 0.88 times its time in Table 2, 0.61 to 0.80 times its average memory",
            "running time to that over glibc, in Tables 2 and 3 on all cores, and average memory asked for: "
            "at most 1 is for it",
            [
                *findings(
                    (one for name in setups for one in pairs(found.named(name), replacing, [GLIBC])),
                    at_most(1.0),
                ),
                *memory.to_glibc(found, replacing),
            ],
            "does not hold",
            Extent.NEARLY_ALL,
        ),
    ]


def _spread(found: Evaluated, setup: str, names: list[str], field: Field) -> Iterator[Taken]:
    timed = found.named(setup)
    ends = extremes(timed, names, field)
    if ends and (ratio := between(timed, *ends, field)):
        yield setup, f"{ends[0]} to {ends[1]}", ratio


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


def _speedups(found: Evaluated, names: list[str], of: float = 1.0) -> Iterator[Taken]:
    many = scaling(found.threads)
    for name in names:
        if ratio := speedup(found, name, scaling(1), many):
            yield many, name, _divided(ratio, of)


def _divided(ratio: Estimate, by: float) -> Estimate:
    return Estimate(value=ratio.value / by, low=ratio.low / by, high=ratio.high / by)


def _to_glibc(found: Evaluated, names: list[str]) -> Iterator[Taken]:
    many = scaling(found.threads)
    base = speedup(found, GLIBC, scaling(1), many)
    for name in names:
        if ratio := quotient(speedup(found, name, scaling(1), many), base):
            yield many, f"{name} to glibc", ratio
