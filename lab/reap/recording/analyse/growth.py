"""Whether a program's memory grew until its end, and which allocation site holds most of it."""

from bisect import bisect_right
from collections.abc import Sequence

from reap.base.records import Record
from reap.recording.records import Point, Profile, Site

_FEWEST_POINTS = 8
_LEAST = 32 << 20
"""Bytes of growth below which nobody would look for it."""
_AT_THE_END = 0.97
"""Of the peak, that is still resident at the end."""
_AT_HALF, _AT_THREE_QUARTERS = 0.8, 0.93
"""Of the end, at most, at these times: steady growth has 0.5 and 0.75, a heap built first and used then 1."""


class Growth(Record):
    """Memory that grew until the program ended."""

    half: float
    """Bytes resident at half of the time."""
    end: float
    """Bytes resident at the end."""
    site: Site | None = None
    """Where most of what was in use at the peak was allocated; None where no site has a good part of it."""
    part: float = 0.0
    """The part of it (0 to 1) that this site has."""


def growth(profile: Profile) -> Growth | None:
    """Of a recorded run; None where memory did not grow until its end, or what grew was not malloc's."""
    points = profile.resident
    if len(points) < _FEWEST_POINTS:
        return None
    end = points[-1].bytes
    peak = max(point.bytes for point in points)
    half, later = (_at(points, part * points[-1].seconds) for part in (0.5, 0.75))
    steady = half <= _AT_HALF * end and later <= _AT_THREE_QUARTERS * end
    if not steady or end < _AT_THE_END * peak or end - half < _LEAST:
        return None
    # What is in use by the recording is an estimate: its upper end must account for half of what grew.
    if profile.totals.max_bytes.high < (end - half) / 2:
        return None
    live = sum(site.live_at_peak for site in profile.sites)
    most = max(profile.sites, key=_kept, default=None)
    if most is None or live <= 0 or most.live_at_peak < live / 4:
        return Growth(half=half, end=end)
    return Growth(half=half, end=end, site=most, part=most.live_at_peak / live)


def _kept(site: Site) -> float:
    """What was in use from here at the peak, by how much of all that was allocated here that is.

    In triage few blocks are sampled, each for many: of a busy site whose blocks are all freed, one or two
    that happen to be in use at the peak may outweigh those that stay.
    """
    return site.live_at_peak * min(1.0, site.live_at_peak / site.bytes) if site.bytes > 0 else 0.0


def _at(points: Sequence[Point], seconds: float) -> float:
    """The level at this time."""
    return points[max(0, bisect_right([point.seconds for point in points], seconds) - 1)].bytes
