"""Memory use over time of the sites of a recording."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from reap import native
from reap.base.records import Estimate
from reap.recording.analyse.sites import Stack
from reap.recording.analyse.trend import rise
from reap.recording.records import Point, Site

_SLICES = 64
_MOST_SITES = 200
"""Whose history is read, by bytes."""
_MOST_EVENTS = 20_000_000
"""That are read again where memory did not grow: some seconds."""
_ALL_EVENTS = 2**63
_LEAST_GROWTH = 1 << 20
_NORMAL = 1.96
"""Standard errors to each side of a 95 % confidence interval."""
_FINE = 0.2
"""Half of the interval of a rise, as a part of it, up to which a sampled curve tells if it was steady."""


@dataclass(frozen=True)
class Used:
    """A site, its stacks, and how it used memory; `history` is None where lives of blocks are not known."""

    site: Site
    stacks: Sequence[Stack]
    history: native.SiteHistory | None


def usage(
    recording: native.Recording, sites: Sequence[tuple[Site, list[Stack]]], header: native.Header
) -> tuple[list[Used], list[float], Estimate | None]:
    """The sites with their histories, what all had in use at least by slice of the time, and how it grew.

    Reads the events again. Of a recording from outside, and of sites beyond the first 200, no history is
    known. Memory: what the program had in use at once.
    """
    if header.attached:
        return [Used(site, stacks, None) for site, stacks in sites], [], None
    listed = sites[:_MOST_SITES]
    stacks = [(stack[0], stack[1], at) for at, (_, of_site) in enumerate(listed) for stack in of_site]
    resident = [Point(seconds=at, bytes=float(level)) for at, level in recording.resident()]
    most = _MOST_EVENTS if rise(resident) is None else _ALL_EVENTS
    read = recording.histories(stacks, len(listed), _SLICES, most)
    histories = read.sites

    def grew(floors: Sequence[float], variance: float) -> Estimate | None:
        if not read.whole or max(floors) < _LEAST_GROWTH:
            return None
        levels = before_the_end(floors)
        return coarse_rise(levels, variance) or rise(curve(levels))

    used = [
        Used(replace(site, grew=grew(history.floors, site.bytes_variance)), of_site, history)
        for (site, of_site), history in zip(listed, histories, strict=True)
    ]
    rest = [Used(site, of_site, None) for site, of_site in sites[_MOST_SITES:]]
    variance = sum(site.bytes_variance for site, _ in sites)
    return [*used, *rest], read.floors, grew(read.floors, variance)


def before_the_end(floors: Sequence[float]) -> Sequence[float]:
    """Levels by slice of the time, without those in which the program frees all that it had before it ends.

    These are the last one, and those before it from which levels only fall; at most an eighth of all.
    """
    end = len(floors) - 1
    while end > len(floors) * 7 // 8 and floors[end - 1] < floors[end - 2]:
        end -= 1
    return floors[:end]


def coarse_rise(levels: Sequence[float], variance: float) -> Estimate | None:
    """The rise of a sample that is too coarse to show whether it was steady; None of any other.

    A triage of a fraction of a second has a few hundred samples, of which a site may have some dozens: memory
    that rises in a straight line is a stair of unequal steps then.
    """
    risen = levels[-1] - levels[len(levels) // 2]
    half = _NORMAL * math.sqrt(variance / 2)  # half of the blocks were allocated in that time
    if half <= abs(risen) * _FINE:
        return None
    return Estimate(value=risen, low=risen - half, high=risen + half)


def curve(levels: Sequence[float]) -> list[Point]:
    """Levels by slice of the time, a second each."""
    return [Point(seconds=float(at), bytes=level) for at, level in enumerate(levels)]
