"""What `reap show` keeps of the stacks of a recording."""

from reap.base.records import Record


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
