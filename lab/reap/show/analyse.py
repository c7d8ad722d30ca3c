"""Whole stacks, cut to what can be seen."""

from reap import native
from reap.recording.analyse.boxes import LEAST, Boxes, boxes, fewer
from reap.recording.analyse.calls import by_function, calls
from reap.show.records import Flame

_BEFORE_NAMES = LEAST / 10
"""What is dropped before names are looked up. Calls from several lines make one box, so it is less."""


def flame(recording: native.Recording) -> Flame | None:
    """The flame graph of a recording; None where nothing was allocated."""
    tree = by_function(calls(recording, _BEFORE_NAMES))
    if not tree.parents:
        return None
    found = boxes([tree], [place.function for place in tree.places])
    return _flame(found, estimated=recording.header().depth != native.FULL)


def thinned(held: Flame, most: int) -> Flame:
    """At most `most` boxes: the smallest functions become part of their callers."""
    found = Boxes(held.functions, held.parents, held.at, [held.own], held.least)
    return _flame(fewer(found, most), estimated=held.estimated)


def _flame(found: Boxes, *, estimated: bool) -> Flame:
    return Flame(
        functions=found.functions,
        parents=found.parents,
        at=found.at,
        own=found.own[0],
        least=found.least,
        estimated=estimated,
    )
