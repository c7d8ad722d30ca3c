"""Results of sampled drag. Time is bytes allocated so far."""

from typing import Literal

from reap.base.records import Estimate, Record


class SampledSite(Record):
    """Allocation site of sampled objects, and what the objects that they represent drag."""

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
    """It rests on too few samples: another run, with other samples, may differ."""
    via: str = ""
    """What the site called, as of a recording's sites; else empty."""


class SampledPoint(Record):
    """An interval of the curves; both are estimates."""

    live: float
    """Mean bytes in use."""
    needed: float
    """Mean bytes in use if every object had been freed right after its last access."""


class SampledProcess(Record):
    """Drag of one process, estimated from samples."""

    pid: int
    program: str
    allocated: int
    samples: int
    drag: Estimate | None
    """Total drag with its 95 % CI; None where there are too few samples, or none of their objects was
    accessed."""
    few: bool
    """A few objects dominate the sum, or its variance: another run, with other samples, may differ."""
    largest: float
    """Share (0 to 1) of the sample with the largest weight in the area of the bytes in use."""
    peak: float
    """Most bytes in use, an estimate."""
    peak_ratio: float | None
    """To the most bytes needed at once; noisy, without an interval."""
    engine_seconds: float
    sites: list[SampledSite] = []
    """By what they drag, most first, and those of few samples last; none where there are too few samples, or
    no drag."""
    curve: list[SampledPoint] = []
    """In intervals of equal bytes allocated; none where there are too few samples."""
    notes: list[str] = []


class SampledDrag(Record):
    """Everything that `reap drag --engine sample` says of a run."""

    command: list[str]
    engine: Literal["sample"]
    status: int
    processes: list[SampledProcess]
    """By the bytes that they allocated, most first."""
    notes: list[str] = []
