"""Ratios in words. Every estimate has its interval beside it; nothing here decides."""

import math

from reap.allocators.records import DEFAULT
from reap.answer.words import listed
from reap.base import units
from reap.base.records import Estimate
from reap.compare import thresholds as at
from reap.compare.analyse import cpu_time, sound, times
from reap.experiment.records import Comparison, Ratio, Side
from reap.launch import wrappers

METRICS = {
    "cpu_per_request": "CPU time per request",
    "cpu": "CPU time",
    "throughput": "requests per second",
    "latency_p50": "median latency",
    "latency_p99": "P99 latency",
    "latency_p999": "P99.9 latency",
    "latency_mean": "mean latency",
    "wall": "wall time",
    "peak_resident": "peak memory",
    "settled_resident": "settled memory",
    "mean_resident": "mean memory",
    "minor_faults": "minor page faults",
    "request_p50": "median request time",
    "request_p99": "P99 request time",
    "request_p999": "P99.9 request time",
    "request_rate": "requests per second",
    "major_faults": "major page faults",
    "voluntary_switches": "voluntary context switches",
    "involuntary_switches": "involuntary context switches",
}
"""What people call the metrics of a comparison, in the order in which they matter."""

AMOUNTS = "Amounts: the baseline's median, and what the ratio, of paired runs, makes of it."


def change_with_interval(estimate: Estimate) -> str:
    """A ratio as `9.8 % less (95 % CI 8.7 to 10.9 % less)`."""
    return f"{units.change(estimate.value)} (95 % CI {interval(estimate)})"


def interval(estimate: Estimate) -> str:
    """The interval of a ratio as changes, the smaller change first."""
    low, high = estimate.low, estimate.high
    if units.says_nothing(estimate):
        return f"unknown: {units.TOO_FEW}"
    if high <= 1:
        return f"{units.percent_span(1 - high, 1 - low)} less"
    if low >= 0.9995 and high < 2:
        return f"{units.percent_span(max(0.0, low - 1), high - 1)} more"
    if low >= 2:
        return f"{units.ratio(low)} to {units.change(high)}"
    return f"{units.change(low)} to {units.change(high)}"


def takes(side: Side, ratio: Ratio) -> str:
    """Effect of this allocator on one metric, without its interval: `mimalloc takes 9.8 % less CPU time`."""
    return f"{side.allocator} takes {amount(ratio.ratio.value, METRICS.get(ratio.metric, ratio.metric))}"


def effect(side: Side, ratio: Ratio) -> str:
    """Effect of this allocator on one metric: `mimalloc takes 9.8 % less CPU time (95 % CI ...)`."""
    return f"{takes(side, ratio)} (95 % CI {interval(ratio.ratio)})"


def effect_in_units(side: Side, ratio: Ratio) -> str:
    """Effect with its amounts: `mimalloc takes 9.8 % less CPU time, 1.24 s instead of 1.37 s (...)`."""
    return f"{takes(side, ratio)}, {instead(ratio)} (95 % CI {interval(ratio.ratio)})"


def instead(ratio: Ratio) -> str:
    """The baseline's median and what the ratio makes of it: `1.24 s instead of 1.37 s`."""
    return (
        f"{units.in_unit(ratio.typical, ratio.unit)} instead of {units.in_unit(ratio.baseline, ratio.unit)}"
    )


def difference(side: Side, ratio: Ratio) -> str:
    """Effect on a program that is too short for ratios: `mimalloc takes 3.80 ms more CPU time (...)`."""
    more = units.more_or_less(ratio.typical - ratio.baseline)
    return f"{side.allocator} takes {more} {METRICS.get(ratio.metric, ratio.metric)} ({instead(ratio)})"


def status(code: int, last_words: str) -> str:
    """Status of a program that failed by itself, with the last that it said: `status 3 (no such file)`."""
    return f"status {code} ({last_words})" if last_words else f"status {code}"


def too_short(program: str, seconds: float) -> str:
    """Warns that a program ends too soon to be compared, and advises; `seconds` of CPU time."""
    return (
        f"{program} takes {units.duration(seconds)} of CPU time. Below {units.duration(at.TOO_SHORT)} the "
        "start of an allocator decides the ratio: give the program more work, such as a larger input."
    )


def load(comparison: Comparison) -> str:
    """Effect of other programs on the intervals, and what to do; empty where it does not matter."""
    is_open = any(
        ratio.verdict == "inconclusive" for side in comparison.sides for ratio in times(side.ratios)
    )
    return busy(comparison.others, cpu_time(comparison.noise), comparison.worth, is_open=is_open)


def busy(others: float | None, noise: Ratio | None, worth: float, *, is_open: bool) -> str:
    """Form of `load` for the share of the cores' time that `others` took and the baseline's `noise`.

    The load matters where something `is_open`, or differences of `worth` are within the noise.
    """
    if others is None or others < at.MUCH_LOAD:
        return ""
    known = noise is not None and sound(noise) and not units.says_nothing(noise.ratio)
    half = math.sqrt(noise.ratio.high / noise.ratio.low) - 1 if noise is not None and known else 0.0
    if not is_open and half < worth:
        return ""
    wide = f" (the baseline against itself: ± {units.percent(half)})" if half else ""
    return (
        f"Other programs used {units.percent(others)} of the cores' time, which widens the intervals{wide}: "
        "stop them, or allow more rounds."
    )


def amount(ratio: float, name: str) -> str:
    """A ratio of something: `9.8 % less CPU time`, `3.00 times the CPU time`, `the same CPU time`."""
    change = units.change(ratio)
    return f"{change} the {name}" if change.endswith("times") else f"{change} {name}"


def memory(side: Side) -> str:
    """Effect of this allocator on peak memory, in bytes too; empty where it was not measured."""
    ratio = side.ratios.get("peak_resident")
    if ratio is None:
        return ""
    sizes = instead(ratio)
    if ratio.verdict == "inconclusive":
        return f"no significant difference in peak memory ({sizes}; 95 % CI {interval(ratio.ratio)})"
    return f"peak memory is {change_with_interval(ratio.ratio)}: {sizes}"


def settled(side: Side, ratio: Ratio) -> str:
    """Effect of this allocator on settled memory, where its peak does not show it."""
    peak = side.ratios["peak_resident"]
    return (
        f"settled memory is {change_with_interval(ratio.ratio)}: {instead(ratio)}; the peak does not show it "
        f"({instead(peak)})"
    )


def latency(side: Side) -> str:
    """Effect of this allocator on latency or the time of marked requests, P99 where it is known; or empty."""
    names = ("latency_p99", "latency_p50", "latency_mean", "request_p99", "request_p50")
    known = [side.ratios[name] for name in names if name in side.ratios]
    if not known:
        return ""
    ratio, name = known[0], METRICS[known[0].metric]
    if ratio.verdict == "inconclusive":
        return f"no significant difference in {name} ({instead(ratio)}; 95 % CI {interval(ratio.ratio)})"
    return f"{name} is {change_with_interval(ratio.ratio)}: {instead(ratio)}"


def resident(side: Side) -> str:
    """Effect of this allocator on resident memory: late in its run, in the mean, at its peak; and on time."""
    shown = ("settled_resident", "mean_resident", "peak_resident", "cpu")
    held = [side.ratios[metric] for metric in shown if metric in side.ratios]
    if not held or held[0].metric != shown[0]:
        return f"{side.allocator}: the program ended before its memory could be sampled"
    first, *others = held
    beside = [amount(each.ratio.value, METRICS[each.metric]) for each in others]
    return f"{effect(side, first)}: {instead(first)}; beside it {listed(beside)}"


def beside(side: Side, metric: str) -> str:
    """Effect of this allocator on peak memory and CPU time beside `metric`, the one of memory."""
    times = cpu_time(side.ratios)
    held = [side.ratios.get("peak_resident"), times]
    said = [amount(each.ratio.value, METRICS[each.metric]) for each in held if each and each.metric != metric]
    return f"beside it {listed(said)}" if said else ""


def itself(side: Side, comparison: Comparison) -> str:
    """States that this allocator is the one that the program has anyway."""
    program = wrappers.name(comparison.command)
    return (
        f"{side.allocator} is the malloc that {program} has by itself ({side.provider}): it is compared with "
        f"itself, and {DEFAULT} was not measured."
    )


def more_rounds(needed: int | None, comparison: Comparison) -> str:
    """Advice on an inconclusive comparison: `needed` rounds, or something else where that is None."""
    if needed is None:
        return (
            f"More rounds alone will hardly settle it (over {at.MOST_ROUNDS}): stop other programs, "
            "or give the program more work; `reap doctor` says what is noisy."
        )
    took = comparison.round_seconds * needed
    seconds = f" ({units.duration(took)})" if took else ""
    return f"About {needed} rounds{seconds} would likely decide it if the machine stays as quiet as it was."


def noise(comparison: Comparison, metric: str = "cpu") -> str:
    """Interval of the baseline compared with itself; empty where it was not measured."""
    ratio = comparison.noise.get(metric)
    if ratio is None:
        return ""
    if units.says_nothing(ratio.ratio):
        return f"{comparison.baseline} compared with itself: {units.TOO_FEW}"
    span = interval(ratio.ratio)
    return f"{comparison.baseline} compared with itself: {span} {METRICS[metric]}"


def equivalent(worth: float) -> str:
    """Definition of an equivalent ratio."""
    return f"Equivalent: the whole interval is within {units.percent(worth)} of 1; --worth sets that."


def stopping(widening: float) -> list[str]:
    """Explains the intervals of rounds that may stop once all is decided; empty where they may not."""
    said = (
        f"Rounds stop once every time is decided; intervals are {widening:g} times as wide "
        "as for a fixed number of rounds, so that they hold at every interim analysis."
    )
    return [said] if widening > 1 else []
