"""The conclusions of ISMM 2026, each with its rule. Pure functions; no number here is a result."""

from collections.abc import Iterable, Sequence

from reap.api import Arm, Estimate, Fragmented, units
from reap_studies.study import claims
from reap_studies.study.claims import Claim, Setting
from reap_studies.study.ismm2026 import calibration
from reap_studies.study.ismm2026.published import ORIGINALS
from reap_studies.study.judging import ratios
from reap_studies.study.judging.bounds import side
from reap_studies.study.judging.exclusions import Evidence
from reap_studies.study.judging.ratios import (
    best_to_best,
    each_arm,
    estimate,
    finding,
    of_kind,
    quotient,
    results,
)
from reap_studies.study.records import Conclusion, Finding, Measured

ADVERSE = "adv3"
"""The level at which the paper states its results."""
MODERN = ("jemalloc", "mimalloc")
PAPER = ("glibc", *MODERN)
"""What it says, it says of these. Others are among the best, where the best is compared with the best."""


def judge(measured: Sequence[Measured], occupancy: Sequence[Measured]) -> list[Conclusion]:
    """Every conclusion, in the paper's order."""
    every = [*measured, *occupancy]
    evidence = Evidence(
        cards={each.card.name: each.card for each in every},
        originals=ORIGINALS,
        departing=calibration.departures(measured),
    )
    return claims.of("ismm2026").judge(
        _rules(measured, occupancy), ratios.allocators(every), Setting(evidence=evidence)
    )


def _rules(measured: Sequence[Measured], occupancy: Sequence[Measured]) -> dict[str, claims.Rule]:
    bound = [each for each in measured if each.card.microbenchmark]
    per_class = [each for each in of_kind(measured, "per-class") if not each.card.microbenchmark]
    pure = of_kind(measured, "region", "hybrid")
    partial = [each for each in pure if each.card.partial]
    return {
        "per-class-no-benefit": lambda it: each_arm(per_class, MODERN, "adv0", _to_custom, it.judged),
        "microbenchmark": lambda it: each_arm(bound, PAPER, "adv0", _to_custom, it.judged),
        "per-class-no-protection": lambda it: _unprotected(per_class, it),
        "near-regions": lambda it: best_to_best(pure, it.judged),
        "regions-can-win": lambda it: best_to_best(pure, it.judged),
        "mimalloc-best": lambda it: _against_others(pure, "mimalloc", it),
        "regions-resist": lambda it: each_arm(pure, PAPER, ADVERSE, _custom_slowdown, it.judged),
        "naive-slowed": lambda it: each_arm(pure, PAPER, ADVERSE, _naive_slowdown, it.judged),
        "glibc-slowed-most": lambda it: _glibc_worst(pure, it),
        "partial-regions": lambda it: _partly(partial, it.bounds["slowed"]),
        "occupancy": lambda _: _occupancy(occupancy),
    }


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


def _against_others(measured: Sequence[Measured], favourite: str, it: Claim) -> list[Finding]:
    found = []
    for each, result in results(measured):
        own = result.arm("naive", favourite, "adv0")
        for name in PAPER:
            other = result.arm("naive", name, "adv0")
            if own is None or other is None or name == favourite:
                continue
            if ratio := quotient(own, other):
                found.append(finding(each, f"to {name}", ratio, it.judged(ratio)))
    return found


def _glibc_worst(measured: Sequence[Measured], it: Claim) -> list[Finding]:
    found = []
    for each, result in results(measured):
        own = result.arm("naive", "glibc", ADVERSE)
        for name in MODERN:
            other = result.arm("naive", name, ADVERSE)
            if own is not None and other is not None and (ratio := quotient(own, other, field="slowdown")):
                found.append(finding(each, f"to {name}", ratio, it.judged(ratio)))
    return found


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
