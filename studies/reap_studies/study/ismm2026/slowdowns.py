"""What a fragmented heap does to regions, and why where it does much. Pure functions."""

from collections.abc import Mapping, Sequence

from reap.api import Arm, Fragmented, units
from reap_studies.study.judging.bounds import MARGIN
from reap_studies.study.judging.ratios import of_kind, results
from reap_studies.study.records import Measured, Mode, Slowdown

CLEAN, ADVERSE = "adv0", "adv3"


def much(measured: Measured, mode: Mode) -> bool:
    """Whether a region that is whole is slowed by more than MARGIN over some allocator.

    In a quick study, most of whose intervals are wide, only where it is slowed for certain.
    """
    ratios = [each.ratio for each in of_regions([measured], {})]
    return any(ratio.value > MARGIN and (mode == "full" or ratio.low > 1) for ratio in ratios)


def of_regions(measured: Sequence[Measured], simulated: Mapping[str, Fragmented]) -> list[Slowdown]:
    """Of each region with its own allocator, over each malloc; `simulated` has misses, by name."""
    found = []
    for each, result in results(of_kind(measured, "region")):
        if each.card.partial:
            continue
        variant = result.variants[0]
        for name in result.allocators:
            littered = result.arm(variant, name, ADVERSE)
            if littered is None or not littered.sound:
                continue
            ratio = littered.slowdown["cpu"].ratio
            causes = _causes(result, simulated.get(each.card.name), littered) if ratio.value > MARGIN else []
            found.append(
                Slowdown(
                    workload=each.card.name,
                    allocator=name,
                    level=ADVERSE,
                    ratio=ratio,
                    reached=each.card.chunks_from == "malloc",
                    causes=causes,
                )
            )
    return found


def _causes(result: Fragmented, simulated: Fragmented | None, littered: Arm) -> list[str]:
    """What else changed: time inside the allocator, faults, and misses."""
    ratio = littered.slowdown["cpu"].ratio
    said = [_doubt(littered)] if ratio.low <= 1 <= ratio.high else []
    clean = result.arm(littered.variant, littered.allocator, CLEAN)
    if clean is not None and clean.split and littered.split:
        inside = littered.split.inside.value - clean.split.inside.value
        outside = littered.split.outside.value - clean.split.outside.value
        said.append(f"inside malloc {units.more_or_less(inside)}, outside {units.more_or_less(outside)}")
    if faults := littered.slowdown.get("minor_faults"):
        said.append(f"page faults: {units.count(faults.baseline)}, then {units.count(faults.value)}")
    return [*said, *(_misses(simulated, littered) if simulated else [])]


def _doubt(littered: Arm) -> str:
    noise = units.ratio_with_interval(littered.slowdown["cpu"].ratio)
    return f"perhaps nothing: {noise} holds 1"


def _misses(simulated: Fragmented, littered: Arm) -> list[str]:
    (variant,) = simulated.variants
    before, after = (simulated.arm(variant, littered.allocator, level) for level in (CLEAN, ADVERSE))
    if before is None or after is None or before.misses is None or after.misses is None:
        return []
    first = after.misses.first / max(before.misses.first, 1)
    last = after.misses.last / max(before.misses.last, 1)
    ratios = f"first level {units.ratio(first)} times, last level {units.ratio(last)} times"
    return [f"misses in simulated caches: {ratios}"]
