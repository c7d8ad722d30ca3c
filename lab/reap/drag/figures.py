"""Figures of drag: bytes in use, those needed under them, and whose the difference is."""

import msgspec

from reap.base import units
from reap.base.text import printable, shortened
from reap.drag.exact.records import DragLevel
from reap.drag.sample.records import SampledProcess
from reap.draw.figure import Figure

_MOST = 3
"""Sites with a colour of their own; draw/page/figures/drag.js has as many."""
_THIN = 0.25
"""Of the peak: a difference that is less everywhere is hard to see on the scale of the whole."""
_WIDE = 120
"""Characters of a name: those of templates have thousands."""


def of_level(level: DragLevel, place: str = "") -> list[Figure]:
    """Figures of a level: all bytes in use; where it is small, what is dragged on a scale of its own, too.

    `place` is where an answer has the level; empty where the figure's data is `data_of` it. None without
    allocations.
    """
    if not level.curve or not level.peak:
        return []
    whole = Figure(
        "drag",
        "Bytes in use, needed and dragged, over bytes allocated",
        "Means of each stretch. What is dragged lies on what is needed, by site with its share of all drag. "
        "Line: the most in use.",
        f"{level.name}: at most {units.size(level.peak)} in use, and {units.size(level.needed_peak)} needed",
        wide=True,
        option=f"all-{place}",
    )
    top = max(point.live - point.needed for point in level.curve)
    if top <= 0 or top >= _THIN * level.peak:
        return [whole]
    alone = Figure(
        "drag",
        "Dragged alone, on a scale of its own",
        "",
        f"at most {units.size(top)}",
        wide=True,
        option=f"alone-{place}",
    )
    return [whole, alone]


def of_samples(process: SampledProcess) -> list[Figure]:
    """The figure of a process, as samples have it; none where they do not tell."""
    top = max((point.live for point in process.curve), default=0.0)
    if top <= 0:
        return []
    return [
        Figure(
            "drag",
            "Bytes in use, needed and dragged, over bytes allocated",
            "Estimated from samples: means of each stretch.",
            f"at most about {units.size(top)} in use",
            wide=True,
            option="all-",
        )
    ]


def data_of(level: DragLevel) -> DragLevel:
    """Data of the figures of a level: its curves, and the sites that drag most."""
    sites = [site for site in level.sites if site.dragged is not None][:_MOST]
    drawn = [
        msgspec.structs.replace(
            site,
            function=shortened(printable(site.function), _WIDE),
            stack=[],
            module="",
            via="",
        )
        for site in sites
    ]
    return msgspec.structs.replace(level, sites=drawn, before_free=None)


def data_of_samples(process: SampledProcess) -> SampledProcess:
    """Data of the figure of a process: its curves."""
    return msgspec.structs.replace(process, program="", sites=[], notes=[])
