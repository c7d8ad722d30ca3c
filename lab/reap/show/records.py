"""Stacks of a recording, as `reap show` keeps them."""

from reap.base.records import Record


class Slices(Record):
    """Allocations of the boxes of a flame graph, over time and by thread. A row is a box and a thread."""

    seconds: float
    """How long a slice is; the first begins with the recording."""
    count: int
    threads: list[str]
    """Their names. In older recordings, one that began when another had ended may share its name."""
    box: list[int]
    """Of each row, the node of the flame graph."""
    thread: list[int]
    """Of each row, a place in `threads`."""
    values: dict[str, list[list[int]]]
    """By measure, of each row: slice, value, slice, value, ... `peak` is what was in use at the slice's
    highest moment, and holds until the next slice that is listed; the others are what was allocated in the
    slice, and 0 where none is listed. `temporary` counts in the slice in which it was freed."""


class Flame(Record):
    """Whole stacks by function: a tree of calls, as columns. A node comes after its parent; a root has -1."""

    functions: list[str]
    parents: list[int]
    at: list[int]
    """The function of each node, a place in `functions`."""
    own: dict[str, list[int]]
    """By measure (`allocations`, `bytes`, `peak`, `temporary`, `live-at-exit`), of each node: what was
    allocated with exactly this stack, without its callees."""
    least: float
    """Functions with less than this share of every measure are part of their callers."""
    estimated: bool
    """From samples, as in triage."""
    runtime: list[int] = []
    """Functions that are not the program's own: wrappers of malloc, its start, its language's library."""
    slices: Slices | None = None
    """The same over time and by thread."""


class SourceLine(Record):
    """A line of the source, and what was allocated from it and from what it called; 0 where nothing was."""

    number: int
    text: str
    bytes: float
    allocations: float


class Excerpt(Record):
    """The lines of a function that allocate, with some around them."""

    function: str
    file: str
    lines: list[SourceLine]
