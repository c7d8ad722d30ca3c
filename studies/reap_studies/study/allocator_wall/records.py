"""What the study of the allocator wall measures: samples, each of one run."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Record

ARTICLE: tuple[str, ...] = (DEFAULT, "jemalloc", "tcmalloc", "mimalloc")
"""The allocators of which the article speaks."""


class Place(Record):
    """Which figure of which run: what is asked of what, set how."""

    part: str
    """Of the study, as --workloads names it."""
    arm: str
    """An allocator, with what is set beside it."""
    setting: str
    """What is the same for all arms that are compared."""


class Sample(Place):
    """What one run said. Runs of one round were made side by side."""

    round: int
    values: dict[str, float] = {}
    """Figures by name: nanoseconds where the name ends in _ns, shares of 1 in _share, else counts."""
    histogram: str = ""
    """Of latencies in nanoseconds, as HdrHistogram's V2 format has it."""
    problem: str = ""
    """Why there are no values."""


class Wall(Record):
    """All that was measured of the allocator wall."""

    samples: list[Sample]
    rounds: int
    """That every part had whose figures vary."""
    cores: int
    nodes: int
    """Of memory: NUMA needs two."""
    python: str
    parsers: dict[str, str]
    """By name, with versions."""
