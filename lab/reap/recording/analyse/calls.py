"""Call tree of a recording, with names: the whole stacks that allocate."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from reap import native
from reap.recording.analyse.frames import Frame, names

Measure = Literal["allocations", "bytes", "peak", "temporary", "live-at-exit"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
"""Blocks allocated; their bytes; bytes in use when the program used most; blocks freed before the same thread
allocated again; bytes that their process had not freed when it ended."""
UNITS: dict[Measure, Literal["count", "bytes"]] = {
    "allocations": "count",
    "bytes": "bytes",
    "peak": "bytes",
    "temporary": "count",
    "live-at-exit": "bytes",
}
COLUMNS: dict[str, Measure] = {
    "allocations": "allocations",
    "bytes": "bytes",
    "peak_bytes": "peak",
    "temporary": "temporary",
    "exit_bytes": "live-at-exit",
}
"""Names of columns that have what was allocated with exactly a stack."""


@dataclass(frozen=True)
class Place:
    """A line of code that calls, or a process."""

    function: str
    """As a reader is shown it: of code without a symbol, where it lies."""
    file: str
    """Of the source; empty where it is not known."""
    line: int
    module: str
    """Path of the file that has the code; of a process, its executable."""
    address: int
    inlined: bool
    process: bool

    @property
    def where(self) -> str:
        """`file:line` of the source, else the address in the module's file."""
        if self.file:
            return f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.module}+0x{self.address:x}" if self.module else f"0x{self.address:x}"


@dataclass(frozen=True)
class Tree:
    """A tree of calls, as columns. Nodes are numbers; a node comes after its parent, and a root's is -1."""

    parents: list[int]
    at: list[int]
    """The place of each node."""
    own: dict[Measure, list[float]]
    """What was allocated with exactly this stack, without what its callees allocated."""

    def path(self, node: int) -> list[int]:
        """The places of a stack, outermost first."""
        found = []
        while node >= 0:
            found.append(self.at[node])
            node = self.parents[node]
        return found[::-1]

    def stacks(self, measure: Measure) -> Iterator[tuple[list[int], float]]:
        """The stacks that have any of a measure: their places, outermost first, and how much."""
        for node, value in enumerate(self.own[measure]):
            if value > 0:
                yield self.path(node), value


@dataclass(frozen=True)
class Calls(Tree):
    """The tree of a recording. Its roots are programs: all processes of an executable together."""

    places: list[Place]


def calls(recording: native.Recording, least: float = 0.0) -> Calls:
    """The tree of calls. Frames with less than the share `least` of every measure go to their callers.

    Cost: a look-up of the names of every place that is kept, once.
    """
    return named(recording.calls(least))


def named(tree: native.CallTree) -> Calls:
    """The tree with the names that a reader is shown."""
    places = [_place(frame, process) for frame, process in zip(tree.places, tree.processes, strict=True)]
    bare = unnamed(tree)
    return Calls(bare.parents, bare.at, bare.own, places)


def unnamed(tree: native.CallTree) -> Tree:
    """The tree as lists, its places by their numbers."""
    parents = [-1 if parent == native.NO_NODE else parent for parent in tree.parents.tolist()]
    own: dict[Measure, list[float]] = {
        "allocations": tree.allocations.tolist(),
        "bytes": tree.bytes.tolist(),
        "peak": tree.at_peak.tolist(),
        "temporary": tree.temporary.tolist(),
        "live-at-exit": tree.at_exit.tolist(),
    }
    return Tree(parents, tree.at.tolist(), own)


def _place(frame: Frame, process: bool) -> Place:
    path, address, _, file, line, inlined = frame
    function = (path.rpartition("/")[2] or "unknown") if process else names(frame)[0]
    return Place(function, file, line, path, address, inlined, process)


def several_processes(tree: Calls) -> bool:
    """Whether more than one program allocated, so that stacks have to say which."""
    return sum(parent < 0 for parent in tree.parents) > 1


def by_function(tree: Calls) -> Calls:
    """Merges the nodes of a function called from the same stack of functions, whatever the line.

    Processes are left out where there is only one.
    """
    bare = not several_processes(tree)
    places: list[Place] = []
    known_places: dict[tuple[str, bool], int] = {}
    known: dict[tuple[int, int], int] = {}
    moved: list[int] = []
    parents: list[int] = []
    at: list[int] = []
    own: dict[Measure, list[float]] = {measure: [] for measure in MEASURES}
    columns = [(own[measure], tree.own[measure]) for measure in MEASURES]
    for node, parent in enumerate(tree.parents):
        place = tree.places[tree.at[node]]
        if place.process and bare:
            moved.append(-1)
            continue
        name = (place.function, place.process)
        if name not in known_places:
            known_places[name] = len(places)
            places.append(place)
        key = (moved[parent] if parent >= 0 else -1, known_places[name])
        if key not in known:
            known[key] = len(parents)
            parents.append(key[0])
            at.append(key[1])
            for values, _ in columns:
                values.append(0.0)
        moved.append(known[key])
        for values, theirs in columns:
            values[known[key]] += theirs[node]
    return Calls(parents, at, own, places)


def inclusive(tree: Tree, measure: Measure) -> list[float]:
    """Of each node, what was allocated from it and from its callees."""
    values = list(tree.own[measure])
    for node in range(len(values) - 1, -1, -1):
        if tree.parents[node] >= 0:
            values[tree.parents[node]] += values[node]
    return values
