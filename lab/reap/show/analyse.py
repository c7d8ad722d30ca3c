"""Whole stacks, cut to what can be seen."""

from reap import native
from reap.recording.analyse.calls import MEASURES, Tree, by_function, calls, pruned
from reap.show.records import Flame

LEAST = 0.001
"""A box that would be a pixel wide on a page of a thousand."""
_BEFORE_NAMES = LEAST / 10
"""What is dropped before names are looked up. Calls from several lines make one box, so it is less."""
MOST = 20_000
"""Boxes that are kept at all."""


def flame(recording: native.Recording) -> Flame | None:
    """The flame graph of a recording; None where nothing was allocated."""
    tree = by_function(calls(recording, _BEFORE_NAMES))
    if not tree.parents:
        return None
    functions = [place.function for place in tree.places]
    return _cut(tree, functions, LEAST, MOST, estimated=recording.header().depth != native.FULL)


def thinned(held: Flame, most: int) -> Flame:
    """At most `most` boxes: the smallest functions become part of their callers."""
    if len(held.parents) <= most:
        return held
    own = {measure: [float(value) for value in held.own[measure]] for measure in MEASURES}
    tree = Tree(held.parents, held.at, own)
    return _cut(tree, held.functions, held.least * 1.5, most, estimated=held.estimated)


def _cut(tree: Tree, functions: list[str], least: float, most: int, *, estimated: bool) -> Flame:
    kept = pruned(tree, least)
    while len(kept.parents) > most and least < 1:
        least *= 1.5
        kept = pruned(tree, least)
    places = {place: number for number, place in enumerate(dict.fromkeys(kept.at))}
    return Flame(
        functions=[functions[place] for place in places],
        parents=kept.parents,
        at=[places[place] for place in kept.at],
        own={measure: [round(value) for value in kept.own[measure]] for measure in MEASURES},
        least=least,
        estimated=estimated,
    )
