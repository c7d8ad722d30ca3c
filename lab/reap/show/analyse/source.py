"""Allocations of each line of the source, where the source is on this machine as it was compiled."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from reap.recording.analyse.calls import Calls, Place
from reap.show.records import Excerpt, SourceLine

MOST_EXCERPTS = 20
LONGEST = 200
"""Characters of a line."""
AROUND = 2
"""Lines before and behind those that allocate."""

Key = tuple[str, str]
"""File and function."""


def excerpts(tree: Calls, runtime: set[str], read: Callable[[str], list[str]]) -> list[Excerpt]:
    """The functions with the most bytes whose source `read` finds: the lines of a file, or none.

    A line has what was allocated from it and from what it called. Cost: every stack is walked once.
    """
    lines: dict[Key, dict[int, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
    own: dict[Key, float] = defaultdict(float)
    for node, size in enumerate(tree.own["bytes"]):
        objects = tree.own["allocations"][node]
        if objects <= 0:
            continue
        path = [tree.places[at] for at in tree.path(node)]
        places = [place for place in path if place.line > 0 and place.function not in runtime]
        if places:
            own[(places[-1].file, places[-1].function)] += size
        for file, function, line in dict.fromkeys(map(_line, places)):
            sums = lines[(file, function)][line]
            sums[0] += size
            sums[1] += objects
    found: list[Excerpt] = []
    texts: dict[str, list[str]] = {}
    for key in sorted(own, key=lambda each: -own[each]):
        if len(found) == MOST_EXCERPTS:
            break
        file, function = key
        if file not in texts:
            texts[file] = read(file)
        if texts[file] and max(lines[key]) <= len(texts[file]):
            found.append(Excerpt(function=function, file=file, lines=_shown(texts[file], lines[key])))
    return found


def _line(place: Place) -> tuple[str, str, int]:
    return (place.file, place.function, place.line)


def _shown(text: list[str], counted: dict[int, list[float]]) -> list[SourceLine]:
    numbers: Iterable[int] = sorted(
        {
            number
            for line in counted
            for number in range(max(1, line - AROUND), min(len(text), line + AROUND) + 1)
        }
    )
    return [
        SourceLine(
            number=number,
            text=text[number - 1][:LONGEST],
            bytes=counted[number][0] if number in counted else 0.0,
            allocations=counted[number][1] if number in counted else 0.0,
        )
        for number in numbers
    ]
