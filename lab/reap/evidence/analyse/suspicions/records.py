"""Causes that evidence points to, what would prove or refute each, and what would mend it."""

from typing import Literal, get_args

from reap.answer.records import Evidence
from reap.base.records import Record

OfTheAllocator = Literal[
    "tcache overflow",
    "large blocks",
    "arena lock",
    "brk thrash",
    "mmap thrash",
    "page faults",
    "small pages",
    "clearing and copying",
    "many allocations",
    "placement",
]
"""`many allocations`: the allocator takes much time, whatever takes it. `placement`: where blocks lie."""

OfMemory = Literal["pin at the top", "growing memory", "lazy free"]

Cause = Literal[
    OfTheAllocator,
    OfMemory,
    "garbage collection",
    "a lock of its own",
    "kernel input and output",
    "disk",
    "network",
]

OF_THE_ALLOCATOR: tuple[Cause, ...] = get_args(OfTheAllocator)
"""The causes that are the allocator's time, or time that follows from what it does."""

BY_SAMPLES: tuple[Cause, ...] = (*OF_THE_ALLOCATOR, "kernel input and output")
"""The causes that nothing but samples of CPU time shows."""

OF_MEMORY: tuple[Cause, ...] = get_args(OfMemory)
"""The causes that cost memory and not time."""

Metric = Literal["cpu", "wall", "peak_resident", "resident"]


NO_TIME = "the budget had no time for it: --budget allows more"
"""Why an arm was not tried."""


class Remedy(Record):
    """Something to change. What has an environment or an allocator can be tried on the program as it is."""

    name: str
    note: str = ""
    """How it is done, or what it costs beside the gain: a clause without a gain, which only a trial gives."""
    environment: dict[str, str] = {}
    allocator: str = ""
    """The catalogue's name of an allocator to preload; empty for the one that it has."""
    metric: Metric = "cpu"
    """The data that it is judged by."""
    hook: Literal["", "cpython"] = ""
    """The runtime that Reap's own hook has do it in a trial; `how` is then what a person writes."""
    how: str = ""

    @property
    def can_be_tried(self) -> bool:
        """Whether it needs no change of the program."""
        return bool(self.environment or self.allocator or self.hook)


class Suspicion(Record):
    """A cause that the evidence points to; only a trial proves it."""

    cause: Cause
    weight: float
    """About what part of the program's time it takes, or of its memory for the causes of memory: 0 to 1."""
    statements: list[Evidence]
    probes: list[str] = []
    """Names of the preloads (`reap.launch.price`) that take this cause away and nothing else."""
    remedies: list[Remedy] = []

    @property
    def arms(self) -> list[str]:
        """Names of all trials that prove or refute it, on the program as it is."""
        return [*self.probes, *(each.name for each in self.remedies if each.can_be_tried)]
