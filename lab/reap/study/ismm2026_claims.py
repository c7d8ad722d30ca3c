"""The conclusions of ISMM 2026, each with its rule. Pure functions; no number here is a result."""

from collections.abc import Iterable, Sequence

from reap import units
from reap.experiment import statistics
from reap.experiment.matrix_records import Fragmented
from reap.records import Estimate
from reap.study.judging import (
    MARGIN,
    Judged,
    at_least,
    at_most,
    conclusion,
    each_arm,
    estimate,
    fastest,
    finding,
    quotient,
    side,
)
from reap.study.records import Conclusion, Finding, Measured

GAP = 1.15
"""The largest gap that the paper left between regions and naive allocation (section 4.4)."""
ADVERSE = "adv3"
"""The level at which the paper states its results."""
MODERN = ("jemalloc", "mimalloc")
MICROBENCHMARK = "freelist"
"""That of section 4.3, which is no program."""


def judge(measured: Sequence[Measured], occupancy: Sequence[Measured]) -> list[Conclusion]:
    """Every conclusion, in the paper's order."""
    sound = [each for each in measured if each.result is not None]
    bound = [each for each in sound if each.card.name == MICROBENCHMARK]
    per_class = [each for each in sound if each.card.kind == "per-class" and each not in bound]
    chunked = [each for each in sound if each.card.kind in ("region", "hybrid")]
    pure = [each for each in chunked if not each.card.partial]
    partial = [each for each in chunked if each.card.partial]
    return [
        conclusion(
            "RQ1",
            "Per-class allocators give no substantial benefit over a modern general-purpose allocator.",
            "boxed-sim gains 2.3 % over mimalloc",
            "CPU time of naive to custom over the same allocator, clean heap: at most 1.05 is for it",
            each_arm(per_class, MODERN, "adv0", _to_custom, at_most(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "RQ1",
            "Not even a program that does nothing but allocate 16 bytes gains much.",
            "24 % over glibc, 11 % over jemalloc, 8 % over mimalloc",
            "CPU time of naive to custom in the microbenchmark, clean heap: at most 1.24 is for it",
            each_arm(bound, None, "adv0", _to_custom, at_most(1.24)),
            "does not hold",
        ),
        conclusion(
            "RQ1",
            "Per-class allocators give no protection from a fragmented heap.",
            "said of boxed-sim; no figure",
            f"CPU time of custom at {ADVERSE} to itself on a clean heap, where naive is slowed by more than "
            "1.05: above 1.05 is for it",
            _unprotected(per_class),
            "does not hold",
        ),
        conclusion(
            "RQ2",
            "General-purpose allocators have come near to regions.",
            "1.00 to 1.15 with mimalloc; 1.44 in 2002",
            "CPU time of naive over its best allocator to custom over its best, clean heap: at most 1.15 is "
            "for it",
            _best(chunked, at_most(GAP)),
            "does not hold",
        ),
        conclusion(
            "RQ2",
            "Regions still run faster than naive allocation.",
            "7.1 % (197.parser), 14 % (geometry_nodes), 15 % (mudlle)",
            "the same ratio: above 1 is for it, below 1.02 against it",
            _best(chunked, lambda ratio: side(ratio.low > 1, ratio.high < 1.02)),
            "outdated",
        ),
        conclusion(
            "RQ2",
            "Of the three allocators mimalloc is the best for naive allocation.",
            "best overall on their programs",
            "CPU time of naive over mimalloc to naive over each other allocator, clean heap: below 1 is for "
            "it, above 1 against it",
            _against_others(chunked, "mimalloc"),
            "outdated",
        ),
        conclusion(
            "RQ3",
            "Regions are not slowed by a fragmented heap.",
            "nearly every one shows perfect resilience",
            f"CPU time of custom at {ADVERSE} to itself on a clean heap, partial regions left out: at most "
            "1.05 is for it",
            each_arm(pure, None, ADVERSE, _custom_slowdown, at_most(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "RQ3",
            "Naive allocation is slowed by a fragmented heap.",
            "up to 2 times on glibc; 18 to 27 % on mimalloc",
            f"CPU time of naive at {ADVERSE} to itself on a clean heap: above 1.05 is for it",
            each_arm(chunked, None, ADVERSE, _naive_slowdown, at_least(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "RQ3",
            "glibc is slowed more than jemalloc and mimalloc.",
            "considerably; mudlle and 197.parser more than 2 times",
            f"slowdown of naive at {ADVERSE} over glibc to that over each other allocator: above 1 is for it",
            _glibc_worst(chunked),
            "outdated",
        ),
        conclusion(
            "RQ3",
            "Partial regions resist only in part.",
            "Clang is 3.2 to 9.4 % faster than naive at adv3, and slowed itself",
            f"CPU time of custom at {ADVERSE} to itself on a clean heap, partial regions: above 1.05"
            " is for it",
            each_arm(partial, None, ADVERSE, _custom_slowdown, at_least(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "Figure 3",
            "Misses rise with occupancy, and CPU time with them.",
            "L1 misses of Clang, L3 misses of 197.parser, multiplier 10, jemalloc",
            "CPU time at the highest occupancy to that at the lowest, where misses of the last level rise: "
            "above 1 is for it",
            _occupancy(occupancy),
            "does not hold",
        ),
    ]


def best_ratio(result: Fragmented) -> tuple[str, str, Estimate] | None:
    """Figure 5: naive over its best allocator to custom over its best, and which these are."""
    custom, naive = (fastest(result, variant) for variant in ("custom", "naive"))
    if custom is None or naive is None:
        return None
    ratio = quotient(naive, custom)
    return (naive.allocator, custom.allocator, ratio) if ratio else None


def _to_custom(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm("naive", allocator, level), "to_custom")


def _custom_slowdown(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm(result.variants[0], allocator, level), "slowdown")


def _naive_slowdown(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm("naive", allocator, level), "slowdown")


def _unprotected(measured: Iterable[Measured]) -> list[Finding]:
    found = []
    for each in measured:
        assert each.result is not None  # noqa: S101 - the caller has looked
        for name in each.result.allocators:
            naive = _naive_slowdown(each.result, name, ADVERSE)
            custom = _custom_slowdown(each.result, name, ADVERSE)
            if naive is not None and custom is not None and naive.low > MARGIN:
                found.append(finding(each, f"over {name}", custom, at_least(MARGIN)(custom)))
    return found


def _best(measured: Iterable[Measured], judged: Judged) -> list[Finding]:
    found = []
    for each in measured:
        assert each.result is not None  # noqa: S101 - the caller has looked
        if best := best_ratio(each.result):
            naive, custom, ratio = best
            found.append(finding(each, f"naive over {naive} to custom over {custom}", ratio, judged(ratio)))
    return found


def _against_others(measured: Iterable[Measured], favourite: str) -> list[Finding]:
    found = []
    for each in measured:
        assert each.result is not None  # noqa: S101 - the caller has looked
        own = each.result.arm("naive", favourite, "adv0")
        for name in each.result.allocators:
            other = each.result.arm("naive", name, "adv0")
            if own is None or other is None or name == favourite:
                continue
            if ratio := quotient(own, other):
                found.append(finding(each, f"to {name}", ratio, side(ratio.high < 1, ratio.low > 1)))
    return found


def _glibc_worst(measured: Iterable[Measured]) -> list[Finding]:
    found = []
    for each in measured:
        assert each.result is not None  # noqa: S101 - the caller has looked
        own = each.result.arm("naive", "glibc", ADVERSE)
        for name in MODERN:
            other = each.result.arm("naive", name, ADVERSE)
            slow = [arm.slowdown.get("cpu") for arm in (own, other) if arm is not None and arm.sound]
            if len(slow) < 2 or slow[0] is None or slow[1] is None:
                continue
            if len(slow[0].pairs) != len(slow[1].pairs):
                continue
            pairs = [mine / theirs for mine, theirs in zip(slow[0].pairs, slow[1].pairs, strict=True)]
            ratio = statistics.interval(pairs, seed=0)
            found.append(finding(each, f"to {name}", ratio, side(ratio.low > 1, ratio.high < 1)))
    return found


def _occupancy(measured: Iterable[Measured]) -> list[Finding]:
    found = []
    for each in measured:
        if each.result is None:
            continue
        arms = [
            each.result.arm(each.result.variants[-1], each.result.allocators[0], level.name)
            for level in each.result.levels[1:]
        ]
        sound = [arm for arm in arms if arm is not None and arm.sound and arm.misses]
        if len(sound) < 2 or sound[0].misses is None or sound[-1].misses is None:
            continue
        ratio = quotient(sound[-1], sound[0])
        if ratio is None:
            continue
        rise = sound[-1].misses.last / max(sound[0].misses.last, 1)
        stands = side(ratio.low > 1 and rise > 1, ratio.high <= 1 or rise <= 1)
        figure = f"{sound[-1].level} to {sound[0].level}, with {units.ratio(rise)} times the misses"
        found.append(finding(each, figure, ratio, stands))
    return found
