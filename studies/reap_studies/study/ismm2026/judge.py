"""The conclusions of ISMM 2026, each with its rule. Pure functions; no number here is a result."""

from collections.abc import Iterable, Mapping, Sequence

from reap.api import Arm, Estimate, Fragmented, units
from reap_studies.study import claims, judging
from reap_studies.study.claims import Claim
from reap_studies.study.judging import (
    MICROBENCHMARK,
    at_most,
    best_to_best,
    each_arm,
    estimate,
    evidence,
    finding,
    mean,
    quotient,
    results,
    side,
)
from reap_studies.study.records import Conclusion, Finding, Measured

ADVERSE = "adv3"
"""The level at which the paper states its results."""
MODERN = ("jemalloc", "mimalloc")
PAPER = ("glibc", *MODERN)
"""What it says, it says of these. Others are among the best, where the best is compared with the best."""


def judge(measured: Sequence[Measured], occupancy: Sequence[Measured]) -> list[Conclusion]:
    """Every conclusion, in the paper's order, beside it how it stands if no workload is left out."""
    own, of_all = (
        claims.of("ismm2026").judge(
            _rules(measured, occupancy, whole=whole), judging.allocators([*measured, *occupancy])
        )
        for whole in (True, False)
    )
    left_out = [
        each
        for each in evidence(measured, "per-class", "region", "hybrid", whole=False)
        if not judging.counts(each.card)
    ]
    return judging.beside(own, of_all, left_out)


def _rules(
    measured: Sequence[Measured], occupancy: Sequence[Measured], *, whole: bool
) -> dict[str, claims.Rule]:
    bound = [each for each in measured if each.card.name == MICROBENCHMARK]
    per_class = evidence(measured, "per-class", whole=whole)
    pure = evidence(measured, "region", "hybrid", whole=whole)
    over_malloc = [each for each in pure if each.card.chunks_from == "malloc"]
    partial = [each for each in measured if each.card.kind in ("region", "hybrid") and each.card.partial]
    return {
        "per-class-no-benefit": lambda it: each_arm(per_class, MODERN, "adv0", _to_custom, it.judged),
        "microbenchmark": lambda it: _microbenchmark(bound, it.bounds),
        "per-class-no-protection": lambda it: _unprotected(per_class, it),
        "near-regions": lambda it: best_to_best(pure, it.judged),
        "regions-can-win": lambda it: best_to_best(pure, it.judged),
        "mimalloc-best": lambda _: _against_others(pure, "mimalloc"),
        "regions-resist": lambda it: each_arm(over_malloc, PAPER, ADVERSE, _custom_slowdown, it.judged),
        "naive-slowed": lambda it: each_arm(pure, PAPER, ADVERSE, _naive_slowdown, it.judged),
        "glibc-slowed-most": lambda it: _glibc_worst(pure, it.bounds["slowed"]),
        "partial-regions": lambda it: _partly(partial, it.bounds["slowed"]),
        "occupancy": lambda _: _occupancy(occupancy),
    }


def _microbenchmark(bound: Iterable[Measured], bounds: Mapping[str, float]) -> list[Finding]:
    return [
        found
        for name, most in bounds.items()
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


def _unprotected(measured: Iterable[Measured], it: Claim) -> list[Finding]:
    found = []
    for each, result in results(measured):
        for name in PAPER:
            pair = _slowed_pair(result, name)
            if pair is None or pair[1].slowdown["cpu"].ratio.low <= it.bounds["slowed"]:
                continue
            if ratio := quotient(*pair, field="slowdown"):
                found.append(finding(each, f"over {name}", ratio, it.judged(ratio)))
    return found


def _partly(measured: Iterable[Measured], slowed: float) -> list[Finding]:
    found = []
    for each, result in results(measured):
        for name in PAPER:
            pair = _slowed_pair(result, name)
            if pair is None or (ratio := quotient(pair[1], pair[0], field="slowdown")) is None:
                continue
            own = pair[0].slowdown["cpu"].ratio
            stands = side(ratio.low > 1 and own.low > 1, ratio.high <= 1 or own.high <= slowed)
            figure = f"over {name}, custom slowed {units.ratio(own.value)} times"
            found.append(finding(each, figure, ratio, stands))
    return found


def _against_others(measured: Sequence[Measured], favourite: str) -> list[Finding]:
    by_other: dict[str, list[Estimate]] = {}
    for _, result in results(measured):
        own = result.arm("naive", favourite, "adv0")
        for name in PAPER:
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


def _glibc_worst(measured: Sequence[Measured], slowed: float) -> list[Finding]:
    by_other: dict[str, list[Estimate]] = {}
    for _, result in results(measured):
        slowdowns = [_naive_slowdown(result, name, ADVERSE) for name in PAPER]
        if max((ratio.value for ratio in slowdowns if ratio), default=0) <= slowed:
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
