"""The verdict on a program at the allocator wall: its cause, what it rests on, and what would help."""

from typing import Literal

from reap.answer.records import Evidence
from reap.base.records import Estimate, Record

Cause = Literal[
    "tcache overflow",
    "large blocks",
    "arena lock",
    "brk thrash",
    "mmap thrash",
    "page faults",
    "clearing and copying",
    "many allocations",
    "pin at the top",
    "growing memory",
    "lazy free",
    "garbage collection",
    "parsing",
    "a lock of its own",
    "disk",
    "network",
    "nothing",
    "inconclusive",
]
"""`many allocations`: the allocator is busy and on its fast path."""

OF_THE_ALLOCATOR: tuple[Cause, ...] = (
    "tcache overflow",
    "large blocks",
    "arena lock",
    "brk thrash",
    "mmap thrash",
    "page faults",
    "clearing and copying",
    "many allocations",
)
"""The causes that are the allocator's time, or time that follows from what it does."""

BY_SAMPLES: tuple[Cause, ...] = (*OF_THE_ALLOCATOR, "parsing")
"""The causes that nothing but samples of CPU time shows."""

OF_MEMORY: tuple[Cause, ...] = ("pin at the top", "growing memory", "lazy free")
"""The causes that cost memory and not time."""

CAN_BE_SAVED: tuple[Cause, ...] = (
    *OF_THE_ALLOCATOR,
    "pin at the top",
    "lazy free",
    "garbage collection",
)
"""The causes of which a remedy's effect can be foretold from the facts."""

Regime = Literal["not the wall", "left of the knee", "right of the knee", "inconclusive"]

Metric = Literal["cpu", "wall", "peak_resident", "resident"]


class Remedy(Record):
    """Something to change. What has an environment or an allocator can be tried on the program as it is."""

    name: str
    expect: str
    """What to expect of it, a sentence, from the facts of this program."""
    environment: dict[str, str] = {}
    allocator: str = ""
    """The catalogue's name of an allocator to preload; empty for the one that it has."""
    metric: Metric = "cpu"
    """The data that it is judged by."""

    @property
    def can_be_tried(self) -> bool:
        """Whether it needs no change of the program."""
        return bool(self.environment or self.allocator)


class Suspicion(Record):
    """A cause that the facts point to."""

    cause: Cause
    weight: float
    """About what part of the program's time it takes, or of its memory for the causes of memory: 0 to 1."""
    saves: Estimate
    """What part could be saved, minimum and maximum."""
    statements: list[Evidence]
    remedies: list[Remedy] = []


class Trial(Record):
    """The results of remedies that were tried at once. Their ratios are in a comparison, by their names."""

    tried: list[Remedy]
    sentences: list[str]
    conclusion: str = ""
    """The conclusion about the cause, a sentence."""
    best: str = ""
    """The remedy that won; empty where none did."""


class WallVerdict(Record):
    """What limits a program."""

    cause: Cause
    regime: Regime
    paragraph: str
    evidence: list[Evidence]
    remedies: list[Remedy]
    weight: float = 0.0
    """About what part of the program's time the cause takes, or of its memory: 0 to 1."""
    expect: Estimate | None = None
    """What part of its time (or memory) a remedy may save; None where nothing can be said."""
    others: list[Suspicion] = []
    """Smaller ones, largest first."""
    trial: Trial | None = None
    """None where nothing was tried."""
