"""What samples say of drag, as results. Time is bytes allocated so far."""

from typing import Literal

from reap.base.records import Estimate, Record


class SampledSite(Record):
    """Where drawn objects come from, and what those that they stand for drag."""

    function: str
    location: str
    module: str
    stack: list[str]
    """That of the most bytes, innermost first."""
    samples: int
    bytes: float
    """Allocated there, an estimate."""
    share: Estimate
    """Of all that is dragged, with its 95 % CI."""
    few: bool
    """Too few samples say so: another run, which draws others, may say otherwise."""


class SampledPoint(Record):
    """A stretch of the curves; both are estimates."""

    live: float
    """Mean bytes in use."""
    needed: float
    """Mean bytes in use if every object had been freed right after its last access."""


class SampledProcess(Record):
    """Drag of one process, as far as samples tell."""

    pid: int
    program: str
    allocated: int
    samples: int
    drag: Estimate | None
    """Total drag with its 95 % CI; None where the samples do not tell: nothing they drew was used, or
    there are too few."""
    few: bool
    """A few objects rule the sum, or its variance: another run, which draws others, may say otherwise."""
    largest: float
    """Share (0 to 1) that the weightiest sample has in the area of the bytes in use."""
    peak: float
    """Most bytes in use, an estimate."""
    peak_ratio: float | None
    """To the most bytes needed at once; noisy, without an interval."""
    engine_seconds: float
    sites: list[SampledSite] = []
    """By what they drag, most first, and those of few samples behind; none where the samples do not tell, or
    nothing is dragged."""
    curve: list[SampledPoint] = []
    """In stretches of equal bytes allocated; none where the samples are too few for it."""
    notes: list[str] = []


class SampledDrag(Record):
    """Everything that `reap drag --engine sample` says of a run."""

    command: list[str]
    engine: Literal["sample"]
    status: int
    processes: list[SampledProcess]
    """By the bytes that they allocated, most first."""
    notes: list[str] = []
