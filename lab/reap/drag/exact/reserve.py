"""Leaves out of a program's drag what a language's runtime sets aside before the program begins.

As it is loaded libstdc++ allocates about 72 KB for exceptions that find no memory, and looks at them no more.
No C++ program can free them, and in one of small objects they would be most of what it drags.
"""

import msgspec

from reap.drag.exact.records import DragLevel, DragPoint, DragSite, Tally

_LIBRARY = "libstdc++.so"
_INITIALISES = ("call_init", "_dl_init")
"""The dynamic linker's functions in which libraries are initialised."""


def without_reserve(level: DragLevel) -> DragLevel:
    """The level as it were without that block; the same where there is none.

    Areas are exact. So is the peak, since the block is in use from before the program begins to its end. What
    is needed at most is looked for after the first stretch of the curve, where the block was needed, too.
    """
    reserve = next((site for site in level.sites if _is_reserve(site)), None)
    if reserve is None or reserve.live_at_peak != reserve.bytes or len(level.curve) < 2:
        return level
    live = int(level.live_area) - int(reserve.live_area)
    needed = int(level.needed_area) - int(reserve.needed_area)
    peak = level.peak - reserve.bytes
    # Sums of doubles stand in the curve: a mean may be a little above the whole number that it is.
    needed_peak = min(peak, round(max(point.most_needed for point in level.curve[1:])))
    if needed <= 0 or needed_peak <= 0:
        return level
    dragged = live - needed
    return msgspec.structs.replace(
        level,
        total=_less(level.total, Tally(objects=1, bytes=reserve.bytes)),
        drag=live / needed,
        live_area=str(live),
        needed_area=str(needed),
        peak=peak,
        needed_peak=needed_peak,
        peak_ratio=peak / needed_peak,
        never=_less(level.never, reserve.never),
        write_only=_less(level.write_only, reserve.write_only),
        before_free=without_reserve(level.before_free) if level.before_free else None,
        curve=[_lowered(point, reserve.bytes) for point in level.curve],
        sites=[
            msgspec.structs.replace(site, share=_dragged(site) / dragged if dragged else 0.0)
            for site in level.sites
            if site is not reserve
        ],
    )


def _is_reserve(site: DragSite) -> bool:
    initialised = any(name in line for line in site.stack for name in _INITIALISES)
    return site.objects == 1 and site.module.rpartition("/")[2].startswith(_LIBRARY) and initialised


def _dragged(site: DragSite) -> int:
    return int(site.live_area) - int(site.needed_area)


def _less(all_of_them: Tally, some: Tally) -> Tally:
    return Tally(objects=all_of_them.objects - some.objects, bytes=all_of_them.bytes - some.bytes)


def _lowered(point: DragPoint, size: int) -> DragPoint:
    """In the first stretch, in which the block was made, no more than what there is."""
    live, most_live = max(0.0, point.live - size), max(0.0, point.most_live - size)
    return DragPoint(
        at=point.at,
        live=live,
        needed=min(point.needed, live),
        most_live=most_live,
        most_needed=min(point.most_needed, most_live),
    )
