"""The conclusions of OOPSLA 2002, each with its rule. Pure functions; no number here is a result."""

from collections.abc import Iterable, Sequence

import msgspec

from reap.api import Estimate, Fragmented, exactly
from reap_studies.study import claims
from reap_studies.study.claims import Setting
from reap_studies.study.judging import ratios
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.judging.exclusions import Evidence
from reap_studies.study.judging.programs import SHARE
from reap_studies.study.judging.ratios import best_to_best, each_arm, estimate, of_kind, quotient
from reap_studies.study.records import Conclusion, Finding, Measured, Memory, Statistics

WINDOWS = "win32-like"
"""What stands for the Windows allocator."""
OURS = "reap"
"""This library, as an allocator and as a variant."""
LEA = "dlmalloc"
OF_ITS_OWN = ("per-class", "size-class", "region", "hybrid")
"""The kinds of programs with an allocator of their own."""


def judge(
    measured: Sequence[Measured],
    statistics: Sequence[Statistics],
    memory: Sequence[Memory] = (),
    evidence: Evidence | None = None,
) -> list[Conclusion]:
    """Every conclusion, in the paper's order."""
    setting = Setting(evidence=evidence or Evidence())
    rules = _rules(measured, statistics, memory)
    return claims.of("oopsla2002").judge(rules, ratios.allocators(measured), setting)


def _rules(
    measured: Sequence[Measured], statistics: Sequence[Statistics], memory: Sequence[Memory]
) -> dict[str, claims.Rule]:
    every = of_kind(measured, *OF_ITS_OWN)
    regions = of_kind(measured, "region")
    ordinary = [each for each in statistics if each.card.kind == "ordinary"]
    custom = [each for each in statistics if each.card.kind != "ordinary"]
    return {
        "malloc-share-custom": lambda it: _shares(custom, it.judged),
        "malloc-share-ordinary": lambda it: _shares(ordinary, it.judged),
        "faster-than-the-system": lambda it: each_arm(every, ("glibc",), "adv0", _to_custom, it.judged),
        "faster-than-windows": lambda it: each_arm(every, (WINDOWS,), "adv0", _to_custom, it.judged),
        "general-purpose-suffices": lambda it: best_to_best(every, it.judged),
        "regions-stay-faster": lambda it: best_to_best(regions, it.judged),
        "reap-for-a-region": lambda it: each_arm(regions, ("glibc",), "adv0", _replaced, it.judged),
        "reaps-as-malloc": lambda it: each_arm(every, (OURS,), "adv0", _to_lea, it.judged),
        "memory-mixed": lambda it: [*_marks(memory, it.judged), *_resident(every, it.judged)],
    }


def _shares(statistics: Iterable[Statistics], judged: Judged) -> list[Finding]:
    return [
        Finding(
            workload=each.card.name,
            figure=SHARE,
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
