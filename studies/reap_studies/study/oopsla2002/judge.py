"""The conclusions of OOPSLA 2002, each with its rule. Pure functions; no number here is a result."""

from collections.abc import Iterable, Sequence

import msgspec

from reap.api import Estimate, Fragmented, exactly
from reap_studies.study import claims, judging
from reap_studies.study.judging import (
    Judged,
    best_to_best,
    counts,
    each_arm,
    estimate,
    evidence,
    quotient,
)
from reap_studies.study.records import Conclusion, Finding, Measured, Memory, Statistics

WINDOWS = "win32-like"
"""What stands for the Windows allocator."""
OURS = "reap"
"""This library, as an allocator and as a variant."""
LEA = "dlmalloc"
OF_ITS_OWN = ("per-class", "region", "hybrid")
"""The kinds of programs with an allocator of their own."""


def judge(
    measured: Sequence[Measured], statistics: Sequence[Statistics], memory: Sequence[Memory] = ()
) -> list[Conclusion]:
    """Every conclusion, in the paper's order, beside it how it stands if no workload is left out."""
    own, of_all = (
        claims.of("oopsla2002").judge(
            _rules(measured, statistics, memory, whole=whole), judging.allocators(measured)
        )
        for whole in (True, False)
    )
    left_out = [each for each in evidence(measured, *OF_ITS_OWN, whole=False) if not counts(each.card)]
    return judging.beside(own, of_all, left_out)


def _rules(
    measured: Sequence[Measured], statistics: Sequence[Statistics], memory: Sequence[Memory], *, whole: bool
) -> dict[str, claims.Rule]:
    every = evidence(measured, *OF_ITS_OWN, whole=whole)
    regions = evidence(measured, "region", whole=whole)
    ordinary = [each for each in statistics if each.card.kind == "ordinary"]
    custom = [
        each for each in statistics if each.card.kind != "ordinary" and (counts(each.card) or not whole)
    ]
    asked = [each for each in memory if counts(each.card) or not whole]
    return {
        "malloc-share-custom": lambda it: _shares(custom, it.judged),
        "malloc-share-ordinary": lambda it: _shares(ordinary, it.judged),
        "faster-than-the-system": lambda it: each_arm(every, ("glibc",), "adv0", _to_custom, it.judged),
        "faster-than-windows": lambda it: each_arm(every, (WINDOWS,), "adv0", _to_custom, it.judged),
        "general-purpose-suffices": lambda it: best_to_best(every, it.judged),
        "regions-stay-faster": lambda it: best_to_best(regions, it.judged),
        "reap-for-a-region": lambda it: each_arm(regions, ("glibc",), "adv0", _replaced, it.judged),
        "reaps-as-malloc": lambda it: each_arm(every, (OURS,), "adv0", _to_lea, it.judged),
        "memory-mixed": lambda it: [*_marks(asked, it.judged), *_resident(every, it.judged)],
    }


def _shares(statistics: Iterable[Statistics], judged: Judged) -> list[Finding]:
    return [
        Finding(
            workload=each.card.name,
            figure=judging.SHARE,
            ratio=each.share.share,
            side=judged(each.share.share),
        )
        for each in statistics
        if each.share is not None
    ]


def _replaced(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    arm, own = (result.arm(variant, allocator, level) for variant in (OURS, "custom"))
    return quotient(arm, own) if arm is not None and own is not None else None


def _to_lea(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    arm, lea = (result.arm("naive", name, level) for name in (allocator, LEA))
    return quotient(arm, lea) if arm is not None and lea is not None else None


def _to_custom(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm("naive", allocator, level), "to_custom")


def _resident(measured: Sequence[Measured], judged: Judged) -> list[Finding]:
    def take(result: Fragmented, allocator: str, level: str) -> Estimate | None:
        return estimate(result.arm("naive", allocator, level), "to_custom", "peak_resident")

    found = each_arm(measured, ("glibc",), "adv0", take, judged)
    return [msgspec.structs.replace(each, figure=f"resident, {each.figure}") for each in found]


def _marks(memory: Iterable[Memory], judged: Judged) -> list[Finding]:
    return [
        Finding(workload=each.card.name, figure="asked for, over glibc", ratio=ratio, side=judged(ratio))
        for each in memory
        if (ratio := asked_ratio(each, "naive", "glibc"))
    ]


def asked_ratio(memory: Memory, variant: str, allocator: str) -> Estimate | None:
    """An arm's high-water mark to that of the program as it is over glibc, each of one run."""
    own, base = memory.mark(variant, allocator), memory.mark("custom", "glibc")
    if own is None or not base:
        return None
    return exactly(own / base)
