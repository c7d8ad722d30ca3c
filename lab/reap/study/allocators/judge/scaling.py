"""The conclusions of the evaluation of six allocators on scalability, each with its rule. Pure functions."""

from collections.abc import Iterator

from reap.base.records import Estimate
from reap.study.allocators.analyse import GLIBC, LEA, Taken, findings, others, pairs, quotient, speedup
from reap.study.allocators.setups import scaling
from reap.study.judging import MARGIN, Extent, at_least, at_most, conclusion
from reap.study.records import Conclusion, Evaluated

WELL = 0.85
"""Of a speedup as great as the number of threads, what the paper says scales very well."""


def judge(found: Evaluated) -> list[Conclusion]:
    """What section 3.5 says, in the paper's order."""
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
