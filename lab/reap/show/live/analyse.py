"""From what the reader says to a moment. Pure functions."""

from collections.abc import Callable, Iterable

from reap.show.live.records import SiteNow

Stack = tuple[int, int, float, float, float]
"""Image, number, bytes in use, and objects and bytes allocated since the last time."""
Place = tuple[str, str, str]
"""Function, location and module of a site."""


def rate(now: float, before: float, seconds: float) -> float:
    """Increase per second; 0 where no time has passed."""
    return max(0.0, now - before) / seconds if seconds > 0 else 0.0


def sites(stacks: Iterable[Stack], place: Callable[[int, int], Place], seconds: float) -> list[SiteNow]:
    """Folds the stacks of each site; `seconds` are those since the last time."""
    found: dict[Place, list[float]] = {}
    for image, number, live, objects, size in stacks:
        held = found.setdefault(place(image, number), [0.0, 0.0, 0.0])
        held[0] += live
        held[1] += rate(objects, 0, seconds)
        held[2] += rate(size, 0, seconds)
    return [
        SiteNow(function=function, location=location, live_bytes=live, allocations=objects, bytes=size)
        for (function, location, _), (live, objects, size) in found.items()
    ]


def by_live(found: Iterable[SiteNow], most: int) -> list[SiteNow]:
    """Sites with most bytes in use."""
    kept = [site for site in found if site.live_bytes >= 1]
    return sorted(kept, key=lambda site: (-site.live_bytes, site.function, site.location))[:most]


def by_bytes(found: Iterable[SiteNow], most: int) -> list[SiteNow]:
    """Sites with most bytes allocated."""
    kept = [site for site in found if site.bytes > 0]
    return sorted(kept, key=lambda site: (-site.bytes, site.function, site.location))[:most]


def by_rate(found: Iterable[SiteNow], most: int) -> list[SiteNow]:
    """Sites with most allocations."""
    kept = [site for site in found if site.allocations > 0]
    return sorted(kept, key=lambda site: (-site.allocations, site.function, site.location))[:most]
