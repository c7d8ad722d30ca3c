"""Conclusions from the ratios of a comparison. Pure functions."""

import math
from collections.abc import Iterable, Mapping
from statistics import median

from reap.base.records import Estimate
from reap.compare import thresholds as at
from reap.experiment import statistics
from reap.experiment.metrics import MEMORY
from reap.experiment.records import Comparison, InRounds, Ratio, Run, Side

PER_REQUEST = "cpu_per_request"
"""Of a server whose requests are counted, in place of CPU time: loads may differ in their number."""

_OVER_TIME = ("request_p99", "request_rate", "latency_mean")
"""Metrics for whose sake all rounds are run: nothing says beforehand how small a change of them matters."""


def trusted(side: Side) -> bool:
    """Whether the figures are of this allocator and of a program that did the same work."""
    cpu = cpu_time(side.ratios)
    return (
        side.verified
        and side.same_exit
        and side.same_output is not False
        and not side.problem
        and cpu is not None
        and sound(cpu)
    )


def cpu_time(ratios: Mapping[str, Ratio]) -> Ratio | None:
    """The ratio of CPU time, per request where requests are counted."""
    return ratios.get(PER_REQUEST) or ratios.get("cpu")


def cpu(side: Side) -> Ratio:
    """The ratio of CPU time of a side that was compared, per request where requests are counted."""
    return side.ratios.get(PER_REQUEST) or side.ratios["cpu"]


def of_objective(side: Side, comparison: Comparison) -> Ratio:
    """The ratio of what the comparison is for, of a side that was compared: CPU time, or memory."""
    return cpu(side) if comparison.objective == "time" else side.ratios[MEMORY[comparison.objective]]


def compared(side: Side, comparison: Comparison) -> bool:
    """Whether the side can be trusted, and has the ratio of what the comparison is for."""
    return trusted(side) and (comparison.objective == "time" or MEMORY[comparison.objective] in side.ratios)


def too_short(side: Side, comparison: Comparison) -> bool:
    """Whether the program ends so soon that an allocator's own start decides its ratio.

    Other commands have no such start in common, and a server's is not measured.
    """
    return not comparison.against and not comparison.load and is_short(cpu_time(side.ratios))


def times(ratios: Mapping[str, Ratio]) -> list[Ratio]:
    """The kinds of time in which a gain counts, as far as they were compared, the more dependable first."""
    return [each for each in (cpu_time(ratios), ratios.get("wall")) if each is not None]


def sound(ratio: Ratio) -> bool:
    """Whether the figures are figures: finite, above nothing, the interval around its value."""
    numbers = (ratio.ratio.low, ratio.ratio.value, ratio.ratio.high)
    return all(math.isfinite(n) for n in numbers) and 0 < numbers[0] <= numbers[1] <= numbers[2]


def to_control(ratio: Ratio, comparison: InRounds) -> Estimate:
    """Ratio to the baseline's second run of each round, which tells an effect from noise.

    A difference must be one from both runs of the baseline, each by an interval of its own. To ask for one
    beyond the interval of the baseline against itself would count the noise of a run twice, and take four
    times the rounds. Where runs are missing, so that rounds do not match, it is asked: then the interval
    returned is as much wider.
    """
    noise = comparison.noise.get(ratio.metric)
    if noise is None or not sound(noise):
        return ratio.ratio
    pairs = list(zip(ratio.pairs, noise.pairs, strict=False))
    if len(ratio.pairs) == len(noise.pairs) >= statistics.LEAST_ROUNDS and all(map(all, pairs)):
        return statistics.typical([own / control for own, control in pairs], widening=comparison.widening)
    held, between = ratio.ratio, noise.ratio
    return Estimate(value=held.value, low=held.low / between.high, high=held.high / between.low)


def beyond_noise(ratio: Ratio, comparison: InRounds) -> bool:
    """Whether it is less than in either run of the baseline."""
    return ratio.ratio.high < 1 and to_control(ratio, comparison).high < 1


def within_noise(ratio: Ratio, comparison: Comparison) -> bool:
    """Whether it may be what it is in the baseline's second run."""
    if ratio.metric not in comparison.noise:
        return False
    held = to_control(ratio, comparison)
    return held.low <= 1 <= held.high


def unpaired(baseline: Mapping[int, Run], own: Mapping[int, Run]) -> float | None:
    """Of rounds whose runs shared a core: the part of the longer run in which the other's arm did not run.

    In the median.
    """
    pairs = [
        sorted((baseline[number].outcome, run.outcome), key=lambda outcome: outcome.wall_ns)
        for number, run in own.items()
        if number in baseline and run.together and not run.in_turns
    ]
    alone = [longer.wall_ns - shorter.wall_ns - shorter.restarted_ns for shorter, longer in pairs]
    parts = [max(0, left) / max(1, longer.wall_ns) for left, (_, longer) in zip(alone, pairs, strict=True)]
    return median(parts) if parts else None


def others(runs: Iterable[Run]) -> float | None:
    """Share of the cores' time that other programs took during these runs; None where it is not known."""
    known = [(run.others, run.seconds) for run in runs if run.others is not None]
    whole = sum(seconds for _, seconds in known)
    return max(0.0, min(1.0, sum(share * seconds for share, seconds in known) / whole)) if whole else None


def is_short(ratio: Ratio | None) -> bool:
    """Whether so little CPU time is compared that an allocator's own start decides the ratio."""
    return ratio is not None and ratio.metric == "cpu" and ratio.baseline < at.TOO_SHORT


def decided(comparison: Comparison) -> bool:
    """Whether more rounds would add nothing: every trusted side is decided in what the comparison is for.

    That is every kind of time, or a metric of memory. A gain that is worth having must be beyond noise, too.
    False where no side can be trusted, and where times of requests are compared.
    """
    sides = [side for side in comparison.sides if compared(side, comparison)]
    return bool(sides) and all(side.itself or _decided(side, comparison) for side in sides)


def _decided(side: Side, comparison: Comparison) -> bool:
    ratios = [of_objective(side, comparison)]
    if comparison.objective == "time":
        if any(metric in side.ratios for metric in _OVER_TIME):
            return False
        if too_short(side, comparison):
            return True
        ratios = times(side.ratios)
    return all(
        ratio.verdict != "inconclusive"
        and (ratio.ratio.value > 1 - comparison.worth or beyond_noise(ratio, comparison))
        for ratio in ratios
    )
