"""Gains of an arm that another cause explains than the one that it was tried for. Pure functions."""

from collections.abc import Iterable, Mapping

from reap.compare import judge
from reap.compare.judge import Standing
from reap.evidence.analyse.suspicions.records import Cause, Suspicion
from reap.evidence.analyse.suspicions.remedies import HUGE_PAGES
from reap.evidence.analyse.suspicions.thresholds import CAUSE_WORTH
from reap.experiment.records import Comparison, Ratio, Side
from reap.launch import price

PLACED = f"{price.PREFIX}placed"
"""The arm that only places blocks elsewhere."""

_MOVES: frozenset[Cause] = frozenset({"tcache overflow", "large blocks", "many allocations"})
"""Causes whose preloads place blocks elsewhere, too."""

MORE = 0.05
"""How much more than a change of placement alone they must gain, of all time and beyond both intervals, to
prove their cause."""

_OF_THE_KERNEL: frozenset[Cause] = frozenset({"page faults", "brk thrash", "mmap thrash"})
"""Causes that a preload takes away, too, since it keeps all memory ..."""

_MOSTLY = 0.5
"""... and from this part of its gain on they explain it: memory that is kept is warm besides."""

Trials = Mapping[str, tuple[Side, Comparison]]
"""Every arm that ran, by its name, with the comparison that it is a side of."""


def gain(side: Side, comparison: Comparison, *, memory: bool = False) -> Ratio | None:
    """Gain of an arm: proven, beyond noise and worth it; None where it has none."""
    return judge.leaves_less(side, comparison) if memory else judge.gain(side, comparison)


def _may_gain(side: Side, comparison: Comparison) -> Ratio | None:
    """Gain of an arm, proven or not decided; None where it has none, or its figures cannot be trusted."""
    open_ = judge.standing(side, comparison) is Standing.INCONCLUSIVE
    return gain(side, comparison) or (ratio_of(side, memory=False) if open_ else None)


def ratio_of(side: Side, *, memory: bool) -> Ratio:
    """Ratio that an arm is judged by: of resident memory, or of time."""
    if memory:
        return next(side.ratios[metric] for metric in judge.RESIDENT if metric in side.ratios)
    times = [side.ratios[name] for name in ("cpu_per_request", "cpu", "wall") if name in side.ratios]
    return times[0]


def kernels_part(suspicions: Iterable[Suspicion], ran: Trials) -> float:
    """The part of the time that the kernel takes for fresh memory, where trials do not refute it."""
    return max(
        (each.weight for each in suspicions if each.cause in _OF_THE_KERNEL and not _is_refuted(each, ran)),
        default=0.0,
    )


def _is_refuted(suspicion: Suspicion, ran: Trials) -> bool:
    told = [judge.standing(*ran[arm]) for arm in suspicion.arms if arm in ran]
    known = [each for each in told if each is not Standing.UNTRUSTED]
    return bool(known) and all(each is Standing.NONE for each in known)


def by_kernel(suspicion: Suspicion, ratio: Ratio, arm: str, kernel: float) -> bool:
    """Whether a preload gains mostly by keeping memory, which takes the kernel more time than this cause."""
    keeps = price.is_price(arm) and suspicion.cause in {*_MOVES, "placement"}
    heavier = suspicion.cause == "placement" or kernel > suspicion.weight
    return keeps and heavier and kernel >= max(CAUSE_WORTH, _MOSTLY * (1 - ratio.ratio.value))


def by_placement(cause: Cause, ratio: Ratio, ran: Trials) -> bool:
    """Whether an arm that also moves blocks gains no more for certain than the one that only moves them."""
    placed = ran.get(PLACED)
    won = _may_gain(*placed) if placed and cause in _MOVES else None
    if placed is None or won is None:
        return False
    if cause == "many allocations" and gain(*placed):  # told beside placement, or not at all
        return True
    return ratio.ratio.value >= won.ratio.value - MORE or ratio.ratio.high >= won.ratio.low


def _is_beyond(suspicion: Suspicion, arm: str, ratio: Ratio, ran: Trials) -> bool:
    """Whether huge pages may gain by what they spare besides page faults: misses of the TLB.

    They do so where they gain more than page faults take, and where it matters, or may, where blocks lie.
    """
    if suspicion.cause != "page faults" or arm != HUGE_PAGES:
        return False
    placed = ran.get(PLACED)
    moved = placed is not None and _may_gain(*placed) is not None
    return moved or 1 - ratio.ratio.value > suspicion.weight + MORE


def by_another(suspicion: Suspicion, ratio: Ratio, arm: str, ran: Trials, kernel: float) -> bool:
    """Whether another cause explains what an arm gains."""
    return (
        by_placement(suspicion.cause, ratio, ran)
        or _is_beyond(suspicion, arm, ratio, ran)
        or by_kernel(suspicion, ratio, arm, kernel)
    )
