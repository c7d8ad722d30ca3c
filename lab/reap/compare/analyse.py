"""What the ratios of a comparison settle. Pure functions."""

import math
from collections.abc import Mapping

from reap.experiment.records import Comparison, Ratio, Side

TIMES = ("cpu", "wall")
"""The metrics in which a gain counts, the more dependable first."""

PER_REQUEST = "cpu_per_request"
"""Of a server whose requests are counted, in place of CPU time: loads may differ in their number."""

_OVER_TIME = ("request_p99", "request_rate", "late_resident", "latency_mean")
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


def sound(ratio: Ratio) -> bool:
    """Whether the figures are figures: finite, above nothing, the interval around its value."""
    numbers = (ratio.ratio.low, ratio.ratio.value, ratio.ratio.high)
    return all(math.isfinite(n) for n in numbers) and 0 < numbers[0] <= numbers[1] <= numbers[2]


def noise_floor(comparison: Comparison, metric: str) -> float:
    """What a ratio must stay below to be no noise: the low end of the baseline against itself, at most 1."""
    noise = comparison.noise.get(metric)
    if noise is None or not sound(noise):
        return 1.0
    return min(1.0, noise.ratio.low)


def within_noise(ratio: Ratio, comparison: Comparison) -> bool:
    """Whether the baseline differs as much from itself, so that this is no difference."""
    noise = comparison.noise.get(ratio.metric)
    return noise is not None and sound(noise) and noise.ratio.low <= ratio.ratio.value <= noise.ratio.high


def decided(comparison: Comparison) -> bool:
    """Whether more rounds would add nothing: every trusted side is decided in every kind of time.

    A gain that is worth having must be beyond noise, too. False where no side can be trusted, and where
    requests or memory over time are compared.
    """
    sides = [side for side in comparison.sides if trusted(side)]
    return bool(sides) and all(side.itself or _decided(side, comparison) for side in sides)


def _decided(side: Side, comparison: Comparison) -> bool:
    if any(metric in side.ratios for metric in _OVER_TIME):
        return False
    times = [side.ratios[metric] for metric in TIMES if metric in side.ratios]
    if PER_REQUEST in side.ratios:
        times = [side.ratios[PER_REQUEST]]
    return all(
        ratio.verdict != "inconclusive"
        and (
            ratio.ratio.value > 1 - comparison.worth
            or ratio.ratio.high < noise_floor(comparison, ratio.metric)
        )
        for ratio in times
    )
