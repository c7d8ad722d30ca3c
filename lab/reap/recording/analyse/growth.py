"""Growth of a program's memory until its end, and the allocation site that it came from."""

from reap.base.records import Record
from reap.recording.analyse.trend import rise
from reap.recording.records import Profile, Site

_LEAST = 32 << 20
"""Bytes of growth in the second half of the time below which nobody would look for it."""
_PART = 0.5
"""Of the growth of resident memory, what the recorded allocations must account for."""
CHUNK = 1024
"""Bytes of a block, on average, from which a pool may have taken it."""
FEWEST_CHUNKS = 16
"""Such blocks of one site from which on it may be a pool."""
_KEPT = 0.99
"""Of a pool's bytes, those that stay in use."""
_SITE = 0.25
"""Of the growth, what one site must account for to be named."""


class Growth(Record):
    """Memory that grew until the program ended."""

    half: float
    """Bytes resident at half of the time, by the trend."""
    end: float
    """Bytes resident at the end."""
    site: Site | None = None
    """Where most of what grew was allocated; None where no site has a good part of it."""
    part: float = 0.0
    """The part of it (0 to 1) that this site has."""

    @property
    def chunk(self) -> float:
        """Mean size of the site's blocks where a pool may have taken them: large, and none freed; else 0."""
        site = self.site
        if site is None or site.objects < FEWEST_CHUNKS or site.bytes < CHUNK * site.objects:
            return 0.0
        return site.bytes / site.objects if site.live_at_peak >= _KEPT * site.bytes else 0.0


def growth(profile: Profile) -> Growth | None:
    """Growth of a recorded run by regression over all points.

    None where resident memory did not rise steadily until the end, or what stayed in use of the recorded
    allocations did not: peaks that are freed again are no growth.
    """
    resident, in_use = rise(profile.resident), profile.grew
    if resident is None or in_use is None or resident.value < _LEAST:
        return None
    if in_use.high < _PART * resident.value:
        return None
    end = max(point.bytes for point in profile.resident[-2:])
    grown = Growth(half=end - resident.value, end=end)
    sites = [(site.grew.value, site) for site in profile.sites if site.grew is not None]
    most, site = max(sites, key=lambda each: each[0], default=(0.0, None))
    # Few samples may have more than was ever resident, or next to nothing.
    whole = min(max(in_use.value, _PART * resident.value), resident.value)
    if site is None or most <= 0 or most < _SITE * whole:
        return grown
    return Growth(half=grown.half, end=grown.end, site=site, part=min(1.0, most / whole))
