"""Growth of memory over hours. Sizes in bytes, times in seconds, rates in bytes an hour."""

from reap.base.records import Estimate, Record

GROUPS = {
    "live": ("live",),
    "free": ("inside", "cached", "pinned", "top", "held"),
    "heap": ("heap",),
    "lazy_free": ("lazy_free",),
    "other": (
        "other",
        "stack",
        "python",
        "v8",
        "java",
        "jvm",
        "go",
        "go_runtime",
        "php",
        "beam",
        "data",
        "named",
    ),
    "files": ("files", "written", "shared"),
}
"""The parts of resident memory that grow for the same reason, by the names that `reap rss` has for them."""

WORDS = {
    "live": "live bytes",
    "free": "free, held by the allocator",
    "heap": "heap, not broken down",
    "lazy_free": "LazyFree, not reclaimed",
    "other": "runtimes, stacks, other anonymous",
    "files": "files, shared memory",
}


class Snapshot(Record):
    """Resident memory at one moment: the groups add up to it."""

    seconds: float
    """Since its process was first observed."""
    pid: int
    resident: int
    groups: dict[str, int]


class Trend(Record):
    """Change of a part of memory."""

    per_hour: Estimate
    first: float
    """Mean of the first block after the warm-up."""
    last: float
    """Mean of the last block."""


class Growth(Record):
    """Growth of a process's memory, over all of its starts."""

    command: list[str]
    starts: int
    """Processes that were observed one after another: a resumed watch observes a new one."""
    seconds: float
    """All of them together, warm-ups included."""
    warm_up: float
    """Excluded from each trend: of all starts together."""
    snapshots: int
    asked: bool
    """Whether the allocator was asked, so that live bytes are known."""
    resident: Trend | None
    """None where it was too short for a trend."""
    parts: dict[str, Trend] = {}
    """By group; without those that had never a byte."""
    available: int = 0
    """Bytes that the machine or the control group could still provide at the end; 0: unknown."""
    ended: str = ""
    """Why it ended early, a sentence."""
    notes: list[str] = []
