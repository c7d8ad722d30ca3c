"""Verdict on whether memory grows, which part of it, and what that leads to."""

from typing import Literal

from reap.base import units
from reap.base.records import Estimate, Record
from reap.rss.growth.records import Growth

Standing = Literal["grows", "does not grow", "inconclusive"]

WORTH = 0.1
"""The share of resident memory by which it must grow a day to be called growing. Less would take weeks to
matter, and much longer to be told from none."""
_STEP = 16 << 10
"""Memory grows by pages: where the smallest growth that counts is less than four of them over the whole time,
it cannot be seen."""
_DAY = 24.0
_MOST_OF_IT = 0.5
"""The least share of the growth that a part called its cause must have."""


class GrowthVerdict(Record):
    """Verdict on the trend."""

    standing: Standing
    sentences: list[str]
    cause: str = ""
    """The group of `records.GROUPS` that most of the growth is in; empty where none is, or nothing grows."""
    more_hours: float = 0.0
    """Where it is inconclusive: about how many hours more would decide."""


def judge(growth: Growth) -> GrowthVerdict:
    """The verdict on all starts together."""
    trend = growth.resident
    if trend is None:
        return _too_short(growth)
    grown, bound = trend.per_hour, WORTH * trend.last / _DAY
    if grown.high < bound and bound * growth.seconds / 3600 >= _STEP:
        said = f"Resident memory does not grow: {rate(grown)}."
        return GrowthVerdict(standing="does not grow", sentences=[said, *_hidden(growth, bound)])
    if grown.low <= 0:
        return _undecided(growth, grown, bound)
    cause = _cause(growth, grown)
    sentences = [
        f"Resident memory grows by {rate(grown)}.",
        _because(growth, cause),
        *_exhausted(growth, grown),
    ]
    return GrowthVerdict(standing="grows", cause=cause, sentences=sentences)


def rate(of: Estimate) -> str:
    """A growth with its interval: `3.10 MiB an hour [2.80, 3.40]`."""
    return units.sizes_with_interval(of, " an hour")


def _too_short(growth: Growth) -> GrowthVerdict:
    said = f"{units.many(growth.snapshots, 'snapshot')} over {units.duration(growth.seconds)} are too few"
    return GrowthVerdict(
        standing="inconclusive", sentences=[f"Inconclusive: {said} for a trend."], more_hours=0.25
    )


def _undecided(growth: Growth, grown: Estimate, bound: float) -> GrowthVerdict:
    # The interval of a slope narrows with the time to the power of 1.5. Where nothing grows it decides once
    # it excludes the bound; true growth decides sooner.
    passed = growth.seconds / 3600
    wanted = max(passed * ((grown.high - grown.low) / 2 / bound) ** (2 / 3), _STEP / bound)
    more = max(wanted - passed, passed / 10)
    sentences = [
        f"Inconclusive: resident memory changes by {rate(grown)}.",
        f"At most about {hours(more)} more would decide.",
    ]
    return GrowthVerdict(standing="inconclusive", sentences=sentences, more_hours=more)


def hours(value: float) -> str:
    """A long time in words."""
    if value < 2:
        return f"{max(1, round(value * 60))} min"
    return f"{value:.0f} hours" if value < 2 * _DAY else f"{value / _DAY:.0f} days"


def _hidden(growth: Growth, bound: float) -> list[str]:
    """A part that grows where another one shrinks: the program may be about to grow."""
    live = growth.parts.get("live")
    if live is None or live.per_hour.low <= 0 or live.per_hour.value < bound:
        return []
    said = f"Live bytes do, by {rate(live.per_hour)}, in memory that the allocator already holds: resident"
    return [f"{said} memory will follow once that is used up."]


def _cause(growth: Growth, grown: Estimate) -> str:
    growing = {name: each.per_hour for name, each in growth.parts.items() if each.per_hour.low > 0}
    most = max(growing, key=lambda name: growing[name].value, default="")
    return most if most and growing[most].value >= _MOST_OF_IT * grown.value else ""


def _because(growth: Growth, cause: str) -> str:
    if not cause:
        return "No part of it alone accounts for most of that."
    grown = rate(growth.parts[cause].per_hour)
    live = growth.parts.get("live")
    beside = f"; live bytes change by {rate(live.per_hour)}" if live is not None else ""
    why = "" if growth.asked else ": it was not asked"
    return {
        "live": f"Live bytes grow by {grown}: the program keeps what it allocates "
        "(a leak, a cache without a bound, a queue).",
        "free": f"It is held by the allocator: its free memory grows by {grown}{beside}.",
        "heap": f"It is the allocator's memory, which grows by {grown}. How much of that is live is not "
        f"known{why}.",
        "lazy_free": f"It is freed already (LazyFree: {grown}), and the kernel takes it when it must.",
        "other": f"It is no memory of malloc, but the program's own mappings or stacks, which grow by "
        f"{grown}.",
        "files": f"It is files and shared memory, which no allocator changes: {grown}.",
    }[cause]


def _exhausted(growth: Growth, grown: Estimate) -> list[str]:
    if not growth.available:
        return []
    left = hours(growth.available / grown.value)
    return [f"At this rate the {units.size(growth.available)} that are available here last about {left}."]
