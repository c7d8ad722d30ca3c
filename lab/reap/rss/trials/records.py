"""Results of the remedies that were tried. Sizes in bytes."""

from reap.base.records import Record
from reap.experiment.records import Ratio


class Change(Record):
    """Remedy in the form in which somebody applies it."""

    name: str
    how: str = ""
    """What a person does; empty where the variables or the allocator say it."""
    environment: dict[str, str] = {}
    allocator: str = ""


class Trim(Record):
    """Times when the heaps of each process were trimmed, in seconds since its start."""

    first: float
    every: float = 0.0
    """0: once."""


class Tried(Record):
    """One remedy that was tried."""

    change: Change
    rounds: int = 0
    """Paired rounds; 0: it had one run, and others gave more."""
    settled: float | None = None
    """The median of the rounds, or that of the one run; None where the run failed."""
    ratio: Ratio | None = None
    """Settled memory against the program as it is."""
    cpu: Ratio | None = None
    """CPU time; of a server that of a request, where their number is known."""
    requests: Ratio | None = None
    """Latency of requests, or of a closed load the throughput; None where neither is known."""
    problem: str = ""
    """Why it does not count, a sentence."""
    curve: list[tuple[float, int]] = []
    """Memory over its first run: seconds and bytes."""
    trim: Trim | None = None
    """None where nothing is trimmed."""


class NotTried(Record):
    """One remedy that was not tried."""

    change: Change
    why: str


class Trials(Record):
    """All remedies of one program, that which gives most first."""

    command: list[str]
    baseline: float
    """Settled memory of the program as it is, the median."""
    rounds: int
    runs: int
    tried: list[Tried]
    not_tried: list[NotTried] = []
    notes: list[str] = []
    curve: list[tuple[float, int]] = []
    """Memory of the program as it is over its first run: seconds and bytes."""
