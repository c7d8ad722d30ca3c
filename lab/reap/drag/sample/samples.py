"""The samples of drag, as a process left them. Time is bytes allocated so far."""

from typing import Literal

from reap.base.records import Record


class DragSample(Record):
    """One object that was drawn."""

    size: int
    stands: int
    """The bytes allocated that it was drawn to stand for: its own for one that is drawn always."""
    birth: int
    death: int
    """When it was freed, or the process ended; 0 if it was never seen to."""
    used: float
    """Estimate of last access minus birth, unbiased."""
    used_squares: float
    """The sum of the squares of the intervals whose sum `used` is."""
    stack: tuple[int, ...] = ()
    """Who asked for it, innermost first; `drag_samples.frames` names them."""


class DragSamples(Record):
    """The file of one process."""

    pid: int
    program: str
    clock: int
    """Bytes that it allocated."""
    ended: bool
    """It came to its own end, where every living object was looked at."""
    problem: Literal["", "no memory", "no pagemap", "full"]
    seconds: float
    """Spent in the engine."""
    samples: list[DragSample]
    modules: list[str] = []
    """The files that frames lie in."""
