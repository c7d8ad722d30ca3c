"""The conclusions of OOPSLA 2002, each with its rule. Pure functions; no number here is a result."""

from collections.abc import Iterable, Sequence

import msgspec

from reap.base.records import Estimate, exactly
from reap.compare.levels.records import Fragmented
from reap.study.judging import (
    MARGIN,
    Extent,
    Judged,
    at_least,
    at_most,
    best_to_best,
    conclusion,
    counts,
    each_arm,
    estimate,
    evidence,
    quotient,
)
from reap.study.records import Conclusion, Finding, Measured, Memory, Statistics

ORDINARY_SHARE = 0.03
"""Of their time, what ordinary programs spent in the allocator on average (section 6)."""
CLEAR = 1.10
"""By less than that three of the paper's eight programs gained over the Windows allocator (section 7.1)."""
NEAR_REGIONS = 1.08
"""How near the paper's reaps came to the regions in whose place they were (sections 7.1 and 7.4)."""
WINDOWS = "win32-like"
"""What stands for the Windows allocator."""
OURS = "reap"
"""This library, as an allocator and as a variant."""
LEA = "dlmalloc"


def judge(
    measured: Sequence[Measured], statistics: Sequence[Statistics], memory: Sequence[Memory] = ()
) -> list[Conclusion]:
    """Every conclusion, in the paper's order."""
    whole = evidence(measured, "per-class", "region", "hybrid")
    regions = evidence(measured, "region")
    ordinary = [each for each in statistics if each.card.kind == "ordinary"]
    custom = [each for each in statistics if each.card.kind != "ordinary" and counts(each.card)]
    return [
        conclusion(
            "6",
            "Programs with allocators of their own spend much time in malloc without them.",
            "16 % on average, from 0.1 % (Apache, 175.vpr) to 41.8 % (197.parser)",
            "share of CPU time inside the allocator, naive over glibc: above 0.03, the paper's average of "
            "ordinary programs, is for it",
            _shares(custom, at_least(ORDINARY_SHARE)),
            "does not hold",
        ),
        conclusion(
            "6",
            "Ordinary programs spend little time in malloc.",
            "around 3 % on average, from 0 to 12.6 % (253.perlbmk)",
            "share of CPU time inside the allocator, over glibc: at most 0.03 is for it",
            _shares(ordinary, at_most(ORDINARY_SHARE)),
            "does not hold",
        ),
        conclusion(
            "7.1",
            "Custom allocators are clearly faster than the system's own allocator.",
            "all but boxed-sim, 175.vpr and Apache by more than 10 %, 197.parser and mudlle by more than 60 "
            "% (Windows XP)",
            "CPU time of naive to custom over glibc: above 1.10 is for it",
            each_arm(whole, ("glibc",), "adv0", _to_custom, at_least(CLEAR)),
            "outdated",
        ),
        conclusion(
            "7.1",
            "Custom allocators are clearly faster than an allocator like that of Windows XP.",
            "the same figures",
            "CPU time of naive to custom over win32-like: above 1.10 is for it",
            each_arm(whole, (WINDOWS,), "adv0", _to_custom, at_least(CLEAR)),
            "outdated",
        ),
        conclusion(
            "7.1",
            "A good general-purpose allocator takes the place of most custom ones.",
            "six of eight less than 2 % slower on average with Lea's allocator",
            "CPU time of naive over its best allocator to custom over its best: at most 1.05 is for it",
            best_to_best(whole, at_most(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "7.1",
            "Some regions stay much faster than any general-purpose allocator.",
            "lcc and mudlle, of five, run 21 to 47 % slower with Lea's allocator",
            "the same ratio, regions alone: above 1.05 is for it",
            best_to_best(regions, at_least(MARGIN)),
            "outdated",
            Extent.SOME,
        ),
        conclusion(
            "7.1",
            "A reap in the place of a region comes near to it.",
            "lcc and mudlle run less than 8 % slower with reaps",
            "CPU time of the variant reap, in which this library's Region (or Reap, where that Region is the "
            "program's) is in the place of the program's own, to custom over the same allocator: at most "
            "1.08 is for it",
            each_arm(regions, ("glibc",), "adv0", _replaced, at_most(NEAR_REGIONS)),
            "does not hold",
        ),
        conclusion(
            "7.1",
            "Reaps serve as a general-purpose allocator.",
            "reaps nearly match Lea's allocator but for 197.parser and C-Breeze",
            "CPU time of naive over this library's malloc, which is made of reaps, to naive over Lea's: at "
            "most 1.05 is for it",
            each_arm(whole, (OURS,), "adv0", _to_lea, at_most(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "7.2",
            "Custom allocation does not consistently save memory.",
            "quite mixed: 176.gcc saves 32 %, 175.vpr 8 %; 197.parser takes seven times as much (high-water "
            "mark)",
            "high-water mark of what was asked of the system, and most resident memory, each of naive to "
            "custom over glibc: at most 1.05 is for it",
            [*_marks(memory, at_most(MARGIN)), *_resident(whole, at_most(MARGIN))],
            "does not hold",
        ),
    ]


def _shares(statistics: Iterable[Statistics], judged: Judged) -> list[Finding]:
    return [
        Finding(
            workload=each.card.name,
            figure="share of CPU time",
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
        if counts(each.card) and (ratio := asked_ratio(each, "naive", "glibc"))
    ]


def asked_ratio(memory: Memory, variant: str, allocator: str) -> Estimate | None:
    """An arm's high-water mark to that of the program as it is over glibc, each of one run."""
    own, base = memory.mark(variant, allocator), memory.mark("custom", "glibc")
    if own is None or not base:
        return None
    return exactly(own / base)
