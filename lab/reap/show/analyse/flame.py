"""Whole stacks, cut to what can be seen."""

from collections.abc import Callable, Sequence

import numpy as np

from reap import native
from reap.recording.analyse.boxes import Boxes, boxes, fewer
from reap.recording.analyse.calls import Calls, Place, by_function, named, several_processes
from reap.recording.analyse.frames import is_interpreter, is_python, is_start, is_system, passes_on
from reap.show.analyse import slices, source
from reap.show.records import Excerpt, Flame


def flame(recording: native.Recording) -> Flame | None:
    """The flame graph of a recording; None where nothing was allocated. Reads its events once more."""
    return stacks(recording, lambda _: [])[0]


def stacks(
    recording: native.Recording, read: Callable[[str], list[str]]
) -> tuple[Flame | None, list[Excerpt]]:
    """The flame graph of a recording, and the lines of the source that `read` finds.

    None of either where nothing was allocated.
    """
    raw = recording.calls()  # all: a function may have thousands of lines, each with next to nothing
    whole = named(raw)
    tree = by_function(whole)
    if not tree.parents:
        return None, []
    found = boxes([tree], [place.function for place in tree.places])
    header = recording.header()
    bare = not several_processes(whole)
    of_nodes = (whole.places[at] for at in whole.at)
    names = [None if bare and place.process else place.function for place in of_nodes]
    groups = np.array(placed(whole.parents, names, found), dtype=np.int64)
    held = None if header.attached else slices.read(recording, raw, groups)
    runtime = runtime_of(tree.places)
    graph = Flame(
        functions=found.functions,
        parents=found.parents,
        at=found.at,
        own=found.own[0],
        least=found.least,
        estimated=header.depth != native.FULL,
        runtime=[number for number, name in enumerate(found.functions) if name in runtime],
        slices=slices.packed(slices.limited(held)) if held else None,
    )
    return graph, source.excerpts(whole, runtime, read)


def of_calls(tree: Calls) -> Flame | None:
    """The flame graph of stacks that are no recording's, which has no more than them. None without any."""
    functions = by_function(tree)
    if not functions.parents:
        return None
    found = boxes([functions], [place.function for place in functions.places])
    runtime = runtime_of(functions.places)
    return Flame(
        functions=found.functions,
        parents=found.parents,
        at=found.at,
        own=found.own[0],
        least=found.least,
        estimated=True,
        runtime=[number for number, name in enumerate(found.functions) if name in runtime],
    )


def placed(parents: Sequence[int], names: Sequence[str | None], found: Boxes) -> list[int]:
    """Of each node the box that has what it allocated: its own, or that of its nearest caller that has one.

    `names` has the function of each node, None for a process that is no box. -1 where there is no such box.
    """
    children = {
        (parent, found.functions[at]): box
        for box, (parent, at) in enumerate(zip(found.parents, found.at, strict=True))
    }
    nearest: list[int] = []
    cut: list[bool] = []
    for parent, name in zip(parents, names, strict=True):
        above, gone = (nearest[parent], cut[parent]) if parent >= 0 else (-1, False)
        box = -1 if gone or name is None else children.get((above, name), -1)
        nearest.append(box if box >= 0 else above)
        cut.append(box < 0 and name is not None)
    return nearest


def runtime_of(places: Sequence[Place]) -> set[str]:
    """Functions of no program: they start it, pass on what it asks for, or belong to its language."""
    code = [place for place in places if not place.process]
    interpreted = any(is_python(_frame(place)) for place in code)
    own = {place.function for place in code if not _is_runtime(place, interpreted=interpreted)}
    return {place.function for place in code} - own


def _frame(place: Place) -> tuple[str, int, str, str, int, bool]:
    return (place.module, place.address, place.function, place.file, place.line, place.inlined)


def _is_runtime(place: Place, *, interpreted: bool) -> bool:
    frame = _frame(place)
    return passes_on(frame) or is_start(frame) or is_system(frame) or (interpreted and is_interpreter(frame))


def thinned(held: Flame, most: int, numbers: int) -> Flame:
    """At most `most` boxes, the smallest functions being part of their callers, and `numbers` over time."""
    found = fewer(Boxes(held.functions, held.parents, held.at, [held.own], held.least), most)
    runtime = {held.functions[number] for number in held.runtime}
    over_time = slices.unpacked(held.slices) if held.slices else None
    if over_time and len(found.parents) != len(held.parents):
        names = [held.functions[at] for at in held.at]
        over_time = slices.moved(over_time, placed(held.parents, names, found))
    return Flame(
        functions=found.functions,
        parents=found.parents,
        at=found.at,
        own=found.own[0],
        least=found.least,
        estimated=held.estimated,
        runtime=[number for number, name in enumerate(found.functions) if name in runtime],
        slices=slices.packed(slices.limited(over_time, numbers)) if over_time else None,
    )
