"""The conclusions of ISMM 2026, each with its rule. Pure functions; no number here is a result."""

from collections.abc import Iterable, Sequence

from reap.base import units
from reap.base.records import Estimate
from reap.compare.levels.records import Arm, Fragmented
from reap.study.judging import (
    MARGIN,
    MICROBENCHMARK,
    Extent,
    at_least,
    at_most,
    best_to_best,
    conclusion,
    each_arm,
    estimate,
    evidence,
    finding,
    mean,
    quotient,
    results,
    side,
)
from reap.study.records import Conclusion, Finding, Measured

GAP = 1.15
"""The largest gap that the paper left between regions and naive allocation (section 4.4)."""
ADVERSE = "adv3"
"""The level at which the paper states its results."""
MODERN = ("jemalloc", "mimalloc")
BOUNDS = {"glibc": 1.24, "jemalloc": 1.11, "mimalloc": 1.08}
"""What the paper's microbenchmark gained, by allocator (section 4.3)."""
LIKE = 0.95
"""As slow as another, or not much less."""


def judge(measured: Sequence[Measured], occupancy: Sequence[Measured]) -> list[Conclusion]:
    """Every conclusion, in the paper's order."""
    bound = [each for each in measured if each.card.name == MICROBENCHMARK]
    per_class = evidence(measured, "per-class")
    pure = evidence(measured, "region", "hybrid")
    over_malloc = [each for each in pure if each.card.chunks_from == "malloc"]
    partial = [each for each in measured if each.card.kind in ("region", "hybrid") and each.card.partial]
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
            "CPU time of naive to custom in the microbenchmark, clean heap: at most 1.24, 1.11 and 1.08 over "
            "these is for it",
            _microbenchmark(bound),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "RQ1",
            "Per-class allocators give no protection from a fragmented heap.",
            "said of per-class allocators; no figure",
            f"where naive is slowed by more than 1.05 at {ADVERSE}, slowdown of custom to that of naive: "
            "above 0.95 is for it",
            _unprotected(per_class),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "RQ2",
            "General-purpose allocators have come near to regions.",
            "1.00 to 1.15 with mimalloc; 1.44 in 2002",
            "CPU time of naive over its best allocator to custom over its best, clean heap: at most 1.15 is "
            "for it",
            best_to_best(pure, at_most(GAP)),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "RQ2",
            "Regions can still run faster than naive allocation.",
            "7.1 % (197.parser), 14 % (geometry_nodes), 15 % (mudlle); 175.vpr and Clang equal or nearly",
            "the same ratio: above 1.02 is for it",
            best_to_best(pure, at_least(1.02)),
            "outdated",
            Extent.SOME,
        ),
        conclusion(
            "RQ2",
            "Of the three allocators mimalloc is the best for naive allocation.",
            "best overall on their programs",
            "mean over the workloads of the CPU time of naive over mimalloc to naive over each other "
            "allocator, clean heap: below 1 is for it, above 1 against it",
            _against_others(pure, "mimalloc"),
            "outdated",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "RQ3",
            "Regions are not slowed by a fragmented heap.",
            "nearly every one shows perfect resilience",
            f"CPU time of custom at {ADVERSE} to itself on a clean heap: at most 1.05 is for it. Partial "
            "regions are left out, and allocators whose chunks the system gives: no litter reaches them",
            each_arm(over_malloc, None, ADVERSE, _custom_slowdown, at_most(MARGIN)),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "RQ3",
            "Naive allocation is slowed by a fragmented heap.",
            "up to 2 times on glibc; 18 to 27 % on mimalloc; 175.vpr and geometry_nodes hardly",
            f"CPU time of naive at {ADVERSE} to itself on a clean heap: above 1.05 is for it",
            each_arm(pure, None, ADVERSE, _naive_slowdown, at_least(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "RQ3",
            "glibc is slowed more than jemalloc and mimalloc.",
            "considerably; mudlle and 197.parser more than 2 times",
            f"mean over the workloads that {ADVERSE} slows by more than 1.05 over some allocator: slowdown "
            "of naive over glibc to that over each other: above 1 is for it, below 1 against it",
            _glibc_worst(pure),
            "outdated",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "RQ3",
            "Partial regions resist only in part.",
            "Clang is 3.2 to 9.4 % faster than naive at adv3, and slowed itself",
            f"slowdown of naive at {ADVERSE} to that of custom, partial regions: for it where it is above 1 "
            "and custom itself is slowed; against it where it is not above 1, or custom is slowed by at most "
            "1.05",
            _partly(partial),
            "does not hold",
        ),
        conclusion(
            "Figure 3",
            "Misses rise with occupancy, and CPU time with them.",
            "L1 misses of Clang, L3 misses of 197.parser, multiplier 10, jemalloc",
            "CPU time at the highest occupancy to that at the lowest: for it where it is above 1 and "
            "simulated misses of the first or of the last level rise, too; against it where either does not",
            _occupancy(occupancy),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
    ]


def _microbenchmark(bound: Iterable[Measured]) -> list[Finding]:
    return [
        found
        for name, most in BOUNDS.items()
        for found in each_arm(bound, (name,), "adv0", _to_custom, at_most(most))
    ]


def _to_custom(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm("naive", allocator, level), "to_custom")


def _custom_slowdown(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm(result.variants[0], allocator, level), "slowdown")


def _naive_slowdown(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm("naive", allocator, level), "slowdown")


def _slowed_pair(result: Fragmented, allocator: str) -> tuple[Arm, Arm] | None:
    """Custom and naive on the littered heap; None where either says nothing."""
    pair = [result.arm(variant, allocator, ADVERSE) for variant in ("custom", "naive")]
    custom, naive = (arm if arm is not None and arm.sound else None for arm in pair)
    return (custom, naive) if custom is not None and naive is not None else None


def _unprotected(measured: Iterable[Measured]) -> list[Finding]:
    found = []
    for each, result in results(measured):
        for name in result.allocators:
            pair = _slowed_pair(result, name)
            if pair is None or pair[1].slowdown["cpu"].ratio.low <= MARGIN:
                continue
            if ratio := quotient(*pair, field="slowdown"):
                found.append(finding(each, f"over {name}", ratio, at_least(LIKE)(ratio)))
    return found


def _partly(measured: Iterable[Measured]) -> list[Finding]:
    found = []
    for each, result in results(measured):
        for name in result.allocators:
            pair = _slowed_pair(result, name)
            if pair is None or (ratio := quotient(pair[1], pair[0], field="slowdown")) is None:
                continue
            own = pair[0].slowdown["cpu"].ratio
            stands = side(ratio.low > 1 and own.low > 1, ratio.high <= 1 or own.high <= MARGIN)
            figure = f"over {name}, custom slowed {units.ratio(own.value)} times"
            found.append(finding(each, figure, ratio, stands))
    return found


def _against_others(measured: Sequence[Measured], favourite: str) -> list[Finding]:
    by_other: dict[str, list[Estimate]] = {}
    for _, result in results(measured):
        own = result.arm("naive", favourite, "adv0")
        for name in result.allocators:
            other = result.arm("naive", name, "adv0")
            if own is None or other is None or name == favourite:
                continue
            if ratio := quotient(own, other):
                by_other.setdefault(name, []).append(ratio)
    return [
        found
        for name, ratios in by_other.items()
        for found in mean(ratios, f"to {name}", lambda ratio: side(ratio.high < 1, ratio.low > 1))
    ]


def _glibc_worst(measured: Sequence[Measured]) -> list[Finding]:
    by_other: dict[str, list[Estimate]] = {}
    for _, result in results(measured):
        slowdowns = [_naive_slowdown(result, name, ADVERSE) for name in ("glibc", *MODERN)]
        if max((ratio.value for ratio in slowdowns if ratio), default=0) <= MARGIN:
            continue
        own = result.arm("naive", "glibc", ADVERSE)
        for name in MODERN:
            other = result.arm("naive", name, ADVERSE)
            if own is not None and other is not None and (ratio := quotient(own, other, field="slowdown")):
                by_other.setdefault(name, []).append(ratio)
    return [
        found
        for name, ratios in by_other.items()
        for found in mean(ratios, f"to {name}", lambda ratio: side(ratio.low > 1, ratio.high < 1))
    ]


def _occupancy(measured: Iterable[Measured]) -> list[Finding]:
    found = []
    for each, result in results(measured):
        arms = [
            result.arm(result.variants[-1], result.allocators[0], level.name) for level in result.levels[1:]
        ]
        sound = [arm for arm in arms if arm is not None and arm.sound and arm.misses]
        if len(sound) < 2 or (ratio := quotient(sound[-1], sound[0])) is None:
            continue
        low, high = sound[0].misses, sound[-1].misses
        if low is None or high is None:
            continue
        first, last = high.first / max(low.first, 1), high.last / max(low.last, 1)
        rise = max(first, last) > 1
        stands = side(ratio.low > 1 and rise, ratio.high <= 1 or not rise)
        figure = (
            f"{sound[-1].level} to {sound[0].level}, with {units.ratio(first)} times the misses of the first "
            f"level and {units.ratio(last)} times those of the last"
        )
        found.append(finding(each, figure, ratio, stands))
    return found
