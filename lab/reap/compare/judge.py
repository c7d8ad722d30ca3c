"""Allocators of a comparison that may be recommended, and the grounds for it. Pure functions."""

import enum
import math

from reap.compare import thresholds as at
from reap.compare.analyse import (
    beyond_noise,
    compared,
    cpu,
    of_objective,
    sound,
    times,
    to_control,
    too_short,
    trusted,
    within_noise,
)
from reap.experiment.records import Comparison, Ratio, Side

RESIDENT = ("settled_resident", "mean_resident")
"""Those of resident memory over a run's time; what stays until late counts first."""


_LEAST_NEEDED = 10
"""Rounds that are advised at least."""


class Standing(enum.Enum):
    """Verdict of a comparison on one allocator."""

    GAIN = "a gain in time that is proven, beyond noise and worth having"
    NONE = "no gain that matters"
    INCONCLUSIVE = "the interval is too wide to say"
    SHORT = "the program ends so soon that an allocator's own start decides the ratio"
    UNTRUSTED = "not verified, behaved differently, or could not be compared"


def standing(side: Side, comparison: Comparison) -> Standing:
    """Verdict of the comparison on this allocator."""
    if not compared(side, comparison):
        return Standing.UNTRUSTED
    if side.itself:
        return Standing.NONE
    if comparison.objective != "time":
        return standing_of(of_objective(side, comparison), side.rounds, comparison)
    if too_short(side, comparison):
        return Standing.SHORT
    won = gain(side, comparison)
    if side.rounds < (at.FEW_OF_A_LARGE_GAIN if _is_large(won) else at.FEWEST_ROUNDS):
        return Standing.INCONCLUSIVE
    if won is not None:
        return Standing.GAIN
    held = cpu(side).ratio
    least = 1 - comparison.worth
    settled = held.low >= min(least, 1 - at.MAY_HIDE) or (held.high < 1 and held.value > least)
    slower = slower_elsewhere(cpu(side), side, comparison.worth)
    return Standing.NONE if settled or slower else Standing.INCONCLUSIVE


def gain(side: Side, comparison: Comparison) -> Ratio | None:
    """The ratio in which this allocator is faster: proven, beyond noise, worth it. None where it is not."""
    if side.itself or too_short(side, comparison):
        return None
    for ratio in times(side.ratios):
        if not sound(ratio) or slower_elsewhere(ratio, side, comparison.worth):
            continue
        if beyond_noise(ratio, comparison) and ratio.ratio.value <= 1 - comparison.worth:
            return ratio
    return None


def lessens(side: Side, comparison: Comparison) -> bool:
    """Whether CPU time is proven to be less, beyond noise, by however little, and no other time more."""
    if side.itself or not trusted(side) or too_short(side, comparison):
        return False
    ratio = cpu(side)
    less = sound(ratio) and beyond_noise(ratio, comparison)
    return less and not slower_elsewhere(ratio, side, comparison.worth)


def gains_little(side: Side, comparison: Comparison) -> bool:
    """Whether CPU time is less for certain, by too little or by just what is worth a change.

    An estimate that is worth a change counts where the interval says that twice as much is out of reach. A
    gain in another time counts for itself.
    """
    if side.rounds < at.FEWEST_ROUNDS or not lessens(side, comparison):
        return False
    won = gain(side, comparison)
    if won is not None and won.metric != cpu(side).metric:
        return False
    held, worth = cpu(side).ratio, comparison.worth
    open_ = held.high > 1 - worth > held.low
    return open_ and (held.value > 1 - worth or held.low >= 1 - 2 * worth)


def hardly_pays(side: Side, comparison: Comparison) -> bool:
    """Whether every verb says that there is little to gain: a little, which memory does not outweigh.

    A build is asked about for its time, whatever memory it takes.
    """
    return gains_little(side, comparison) and (bool(comparison.against) or not costs_heavy_memory(side))


def slower_elsewhere(here: Ratio, side: Side, worth: float) -> Ratio | None:
    """The other kind of time, where it is proven worse by as much as would be a gain here."""
    others = (each for each in times(side.ratios) if each.metric != here.metric)
    return next((other for other in others if other.ratio.low > 1 and other.ratio.value >= 1 + worth), None)


def costs_heavy_memory(side: Side) -> bool:
    """Whether peak memory grows so much that a gain in time has to pay for it."""
    memory = side.ratios.get("peak_resident")
    return (
        memory is not None
        and memory.ratio.value >= 1 + at.HEAVY_MEMORY
        and memory.value - memory.baseline >= at.HEAVY_BYTES
    )


def saves_memory(side: Side, comparison: Comparison) -> bool:
    """Whether peak memory shrinks by so much that it is a reason by itself, at no cost in time."""
    memory = side.ratios.get("peak_resident")
    if memory is None or side.itself or not trusted(side) or side.rounds < at.FEWEST_ROUNDS:
        return False
    return (
        _shrinks(memory, comparison)
        and cpu(side).ratio.high < 1 + comparison.worth
        and not slower_elsewhere(cpu(side), side, comparison.worth)
    )


def leaves_less(side: Side, comparison: Comparison) -> Ratio | None:
    """The ratio in which resident memory over the run's time shrinks: proven, beyond noise, worth it.

    None where it does not, or where memory was not looked at. What it costs in time is not asked.
    """
    held = [side.ratios[metric] for metric in RESIDENT if metric in side.ratios]
    return next((ratio for ratio in held if _shrinks(ratio, comparison)), None)


def standing_in_memory(side: Side, comparison: Comparison) -> Standing:
    """Verdict of the comparison on this allocator's resident memory over the run's time."""
    held = [side.ratios[metric] for metric in RESIDENT if metric in side.ratios]
    if not trusted(side) or not held:
        return Standing.UNTRUSTED
    if side.rounds < at.FEWEST_ROUNDS:
        return Standing.INCONCLUSIVE
    if leaves_less(side, comparison) is not None:
        return Standing.GAIN
    return Standing.NONE if all(map(_cannot_matter, held)) else Standing.INCONCLUSIVE


def standing_of(ratio: Ratio, rounds: int, comparison: Comparison) -> Standing:
    """Verdict of `rounds` rounds on one ratio; a gain is beyond noise and at least `comparison.worth`."""
    if rounds < at.FEWEST_ROUNDS or not sound(ratio):
        return Standing.INCONCLUSIVE
    if beyond_noise(ratio, comparison) and ratio.ratio.value <= 1 - comparison.worth:
        return Standing.GAIN
    return Standing.INCONCLUSIVE if ratio.verdict == "inconclusive" else Standing.NONE


def hidden_by_peak(side: Side, comparison: Comparison) -> Ratio | None:
    """The ratio of settled memory where it differs, by as much as is worth saying, and that of the peak not.

    None where it does not differ, where the peak tells it, or where memory was not sampled.
    """
    settled, peak = side.ratios.get("settled_resident"), side.ratios.get("peak_resident")
    if settled is None or peak is None or side.itself or not trusted(side) or side.rounds < at.FEWEST_ROUNDS:
        return None
    differs = (
        settled.verdict in ("better", "worse")
        and not within_noise(settled, comparison)
        and abs(settled.ratio.value - 1) >= comparison.worth
        and abs(settled.value - settled.baseline) >= at.SETTLED_BYTES
    )
    told = peak.verdict in ("better", "worse") and not within_noise(peak, comparison)
    return settled if differs and not told else None


def pays(side: Side, comparison: Comparison) -> bool:
    """Whether the gain in time is there and is worth what it costs in memory."""
    won = gain(side, comparison)
    if won is None or standing(side, comparison) is not Standing.GAIN:
        return False
    return not costs_heavy_memory(side) or won.ratio.high <= 1 - at.PAYS_FOR_MEMORY


def pick(sides: list[Side], comparison: Comparison) -> Side | None:
    """The allocator to switch to for time: the fastest, or among its equals the one with the least memory."""
    paying = [
        (side, won.ratio) for side in sides if pays(side, comparison) and (won := gain(side, comparison))
    ]
    if not paying:
        return None
    fastest = min((ratio for _, ratio in paying), key=lambda ratio: ratio.value)
    equals = [(side, ratio) for side, ratio in paying if ratio.value <= fastest.high]
    return min(equals, key=lambda pair: (_memory(pair[0]), pair[1].value))[0]


def rounds_needed(side: Side, comparison: Comparison) -> int | None:
    """Number of rounds in which a new comparison would likely decide its objective; None if too many.

    An interval narrows with the square root of the rounds. It must exclude 1 (of a gain that to either run of
    the baseline), or a gain that matters, or lie within what is worth a change: whichever is nearest. A
    number of rounds that is given beforehand needs no wider intervals. The noise of a single run is taken to
    stay as it is.
    """
    ratio = of_objective(side, comparison).ratio
    if ratio.low <= 0 or side.rounds < 1:
        return None
    half = math.log(ratio.high / ratio.low) / 2 / comparison.widening
    if half <= 0:  # rounds that were all alike, and too few of them
        return _LEAST_NEEDED
    change = math.log(ratio.value)
    certain = abs(change) / half
    control = to_control(of_objective(side, comparison), comparison)
    if change < 0 and control.low < control.high:
        certain = min(
            certain, -2 * comparison.widening * math.log(control.value) / math.log(control.high / control.low)
        )
    narrower = max(
        certain,
        (comparison.worth - abs(change)) / half,
        (change - math.log(1 - at.MAY_HIDE)) / half,
    )
    needed = max(side.rounds / narrower**2, _LEAST_NEEDED)
    return math.ceil(needed / 5) * 5 if needed <= at.MOST_ROUNDS else None


def all_needed(sides: list[Side], comparison: Comparison) -> int | None:
    """Number of rounds that would likely decide all of these sides; None if too many."""
    needed = [rounds_needed(side, comparison) for side in sides]
    return None if None in needed else max((each for each in needed if each), default=None)


def _is_large(ratio: Ratio | None) -> bool:
    return ratio is not None and ratio.ratio.high <= 1 - at.LARGE_GAIN


def _shrinks(memory: Ratio, comparison: Comparison) -> bool:
    return (
        sound(memory)
        and beyond_noise(memory, comparison)
        and memory.ratio.value <= 1 - at.MEMORY_WORTH_IT
        and memory.baseline - memory.value >= at.MEMORY_WORTH_BYTES
    )


def _cannot_matter(memory: Ratio) -> bool:
    """Whether it is known that memory does not shrink by as much as would be worth it."""
    least = 1 - at.MEMORY_WORTH_IT
    ratio = memory.ratio
    few = memory.baseline - memory.value < at.MEMORY_WORTH_BYTES
    return ratio.low >= least or (ratio.high < 1 and (few or ratio.value > least))


def _memory(side: Side) -> float:
    memory = side.ratios.get("peak_resident")
    return memory.ratio.value if memory else 1.0
