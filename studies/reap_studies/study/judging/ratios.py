"""Ratios that rules take from experiments, of every workload: `exclusions` decide which count. Pure."""

from collections.abc import Callable, Iterable, Sequence

from reap.api import Arm, Estimate, Fragmented, statistics
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.records import Finding, Measured, Side

Taken = Callable[[Fragmented, str, str], Estimate | None]


def estimate(arm: Arm | None, field: str, metric: str = "cpu") -> Estimate | None:
    """One of an arm's ratios, `field` of the record; None where the arm says nothing."""
    if arm is None or not arm.sound:
        return None
    ratio = getattr(arm, field).get(metric)
    return ratio.ratio if ratio else None


def each_arm(
    measured: Iterable[Measured], allocators: Sequence[str] | None, level: str, take: Taken, judged: Judged
) -> list[Finding]:
    """What a ratio of each workload says over each allocator, all of them if none are named."""
    found = []
    for each, result in results(measured):
        for name in result.allocators if allocators is None else allocators:
            ratio = take(result, name, level)
            if ratio is not None:
                found.append(finding(each, f"over {name}", ratio, judged(ratio)))
    return found


def of_kind(measured: Iterable[Measured], *kinds: str) -> list[Measured]:
    """Programs of these kinds that were measured."""
    return [each for each, _ in results(measured) if each.card.kind in kinds]


def allocators(measured: Iterable[Measured]) -> set[str]:
    """Those over which something was measured."""
    return {name for _, result in results(measured) for name in result.allocators}


def results(measured: Iterable[Measured]) -> list[tuple[Measured, Fragmented]]:
    """Those that have a result, with it."""
    return [(each, each.result) for each in measured if each.result is not None]


def finding(each: Measured, figure: str, ratio: Estimate, side: Side) -> Finding:
    """What one figure of a workload says."""
    return Finding(workload=each.card.name, figure=figure, ratio=ratio, side=side)


def quotient(arm: Arm, other: Arm, field: str = "normalised") -> Estimate | None:
    """One arm's ratio of CPU time to another's, round by round; None below two rounds."""
    own, base = (_pairs(each, field) for each in (arm, other))
    if own is None or base is None:
        return None
    pairs = [mine / theirs for mine, theirs in zip(own, base, strict=False)]
    if len(own) != len(base) or len(pairs) < statistics.LEAST_ROUNDS:
        return None
    return statistics.interval(pairs)


def _pairs(arm: Arm, field: str) -> list[float] | None:
    ratio = getattr(arm, field).get("cpu") if arm.sound else None
    return ratio.pairs if ratio else None


def fastest(result: Fragmented, variant: str, without: str = "") -> Arm | None:
    """The variant on a clean heap over the allocator that suits it best, one of them left out."""
    arms = [result.arm(variant, name, "adv0") for name in result.allocators if name != without]
    sound = [arm for arm in arms if arm is not None and arm.sound]
    return min(sound, key=lambda arm: arm.normalised["cpu"].ratio.value, default=None)


def best_ratio(result: Fragmented) -> tuple[str, str, Estimate] | None:
    """Naive over its best allocator to custom over its best, and which these are, the first naive's.

    Both may choose: malloc serves what the custom variant's allocator leaves, and its chunks.
    """
    custom, naive = (fastest(result, variant) for variant in ("custom", "naive"))
    if custom is None or naive is None:
        return None
    ratio = quotient(naive, custom)
    return (naive.allocator, custom.allocator, ratio) if ratio else None


def best_to_best(measured: Iterable[Measured], judged: Judged) -> list[Finding]:
    """What `best_ratio` of each workload says."""
    found = []
    for each, result in results(measured):
        if best := best_ratio(result):
            naive, custom, ratio = best
            found.append(finding(each, f"naive over {naive} to custom over {custom}", ratio, judged(ratio)))
    return found
