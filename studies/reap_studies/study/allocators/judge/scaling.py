"""The conclusions of the evaluation of six allocators on scalability, each with its rule. Pure functions."""

from collections.abc import Iterator

from reap.api import Estimate
from reap_studies.study import claims
from reap_studies.study.allocators.analyse import (
    GLIBC,
    LEA,
    Taken,
    findings,
    others,
    pairs,
    quotient,
    speedup,
)
from reap_studies.study.allocators.setups import scaling
from reap_studies.study.records import Conclusion, Evaluated


def judge(found: Evaluated) -> list[Conclusion]:
    """What section 3.5 says, in the paper's order."""
    rest, many = others(found), found.threads
    mean = f"with {many} threads" if many > 1 else "which need more than one core"
    return claims.of("allocators").judge(
        {
            "others-scale": lambda it: (
                findings(_speedups(found, rest, of=float(many)), it.judged) if many > 1 else []
            ),
            "glibc-scales-less": lambda it: (
                [
                    *findings(_speedups(found, [GLIBC]), it.judged),
                    *findings(_to_glibc(found, rest), it.judged),
                ]
                if many > 1
                else []
            ),
            "dlmalloc-does-not-scale": lambda it: (
                findings(_speedups(found, [LEA]), it.judged) if many > 1 else []
            ),
            "arenas-less-efficient": lambda it: (
                findings(pairs(found.named(scaling(many)), [GLIBC], rest), it.judged) if many > 1 else []
            ),
        },
        found.allocators,
        claims.Setting(has={"cores": many}, words={"mean": mean}),
    )


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
