"""Verdict on whether memory grows, which part of it, and what that leads to."""

from typing import Literal

from reap.base import units
from reap.base.records import Estimate, Record
from reap.soak.records import Soak

Standing = Literal["grows", "does not grow", "inconclusive"]

WORTH = 0.1
"""The share of resident memory by which it must grow a day to be called growing. Less would take weeks to
matter, and much longer to be told from none."""
_STEP = 16 << 10
"""Memory grows by pages: where the smallest growth that counts is less than four of them over the whole soak,
it cannot be seen."""
_DAY = 24.0
_MOST_OF_IT = 0.5
"""The least share of the growth that a part called its cause must have."""


class SoakVerdict(Record):
    """Verdict on the trend."""

    standing: Standing
    sentences: list[str]
    cause: str = ""
    """The group of `records.GROUPS` that most of the growth is in; empty where none is, or nothing grows."""
    more_hours: float = 0.0
    """Where it is inconclusive: about how many hours more would decide."""


def judge(soak: Soak) -> SoakVerdict:
    """The verdict on all starts together."""
    trend = soak.resident
    if trend is None:
        return _too_short(soak)
    grown, bound = trend.per_hour, WORTH * trend.last / _DAY
    if grown.high < bound and bound * soak.seconds / 3600 >= _STEP:
        said = f"Resident memory does not grow: {rate(grown)}."
        return SoakVerdict(standing="does not grow", sentences=[said, *_hidden(soak, bound)])
    if grown.low <= 0:
        return _undecided(soak, grown, bound)
    cause = _cause(soak, grown)
    sentences = [f"Resident memory grows by {rate(grown)}.", _because(soak, cause), *_exhausted(soak, grown)]
    return SoakVerdict(standing="grows", cause=cause, sentences=sentences)


def rate(of: Estimate) -> str:
    """A growth with its interval: `3.10 MiB an hour [2.80, 3.40]`."""
    return units.sizes_with_interval(of, " an hour")


def _too_short(soak: Soak) -> SoakVerdict:
    said = f"{units.many(soak.snapshots, 'snapshot')} over {units.duration(soak.seconds)} are too few"
    return SoakVerdict(
        standing="inconclusive", sentences=[f"Inconclusive: {said} for a trend."], more_hours=0.25
    )


def _undecided(soak: Soak, grown: Estimate, bound: float) -> SoakVerdict:
    # The interval of a slope narrows with the time to the power of 1.5. Where nothing grows it decides once
    # it excludes the bound; true growth decides sooner.
    passed = soak.seconds / 3600
    wanted = max(passed * ((grown.high - grown.low) / 2 / bound) ** (2 / 3), _STEP / bound)
    more = max(wanted - passed, passed / 10)
    sentences = [
        f"Inconclusive: resident memory changes by {rate(grown)}.",
        f"At most about {hours(more)} more would decide.",
    ]
    return SoakVerdict(standing="inconclusive", sentences=sentences, more_hours=more)


def hours(value: float) -> str:
    """A long time in words."""
    if value < 2:
        return f"{max(1, round(value * 60))} min"
    return f"{value:.0f} hours" if value < 2 * _DAY else f"{value / _DAY:.0f} days"


def _hidden(soak: Soak, bound: float) -> list[str]:
    """A part that grows where another one shrinks: the program may be about to grow."""
    live = soak.parts.get("live")
    if live is None or live.per_hour.low <= 0 or live.per_hour.value < bound:
        return []
    said = f"Live bytes do, by {rate(live.per_hour)}, in memory that the allocator already holds: resident"
    return [f"{said} memory will follow once that is used up."]


def _cause(soak: Soak, grown: Estimate) -> str:
    growing = {name: each.per_hour for name, each in soak.parts.items() if each.per_hour.low > 0}
    most = max(growing, key=lambda name: growing[name].value, default="")
    return most if most and growing[most].value >= _MOST_OF_IT * grown.value else ""


def _because(soak: Soak, cause: str) -> str:
    if not cause:
        return "No part of it alone accounts for most of that."
    grown = rate(soak.parts[cause].per_hour)
    live = soak.parts.get("live")
    beside = f"; live bytes change by {rate(live.per_hour)}" if live is not None else ""
    why = "" if soak.asked else ": it was not asked"
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


def _exhausted(soak: Soak, grown: Estimate) -> list[str]:
    if not soak.available:
        return []
    left = hours(soak.available / grown.value)
    return [f"At this rate the {units.size(soak.available)} that are available here last about {left}."]
