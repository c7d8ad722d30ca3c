"""What the study of general-purpose allocators measures: running times by allocator, and memory over time."""

from reap.api import Record
from reap_studies.workloads.records import Card


class Series(Record):
    """One allocator in one setup: what each round took, in order."""

    allocator: str
    wall: list[float] = []
    """Seconds."""
    cpu: list[float] = []
    """Seconds."""
    resident: list[float] = []
    """Most resident memory in bytes."""
    phases: list[list[tuple[float, float, float]]] = []
    """Of the benchmark program, by round and phase: seconds of making, evaluating and freeing, its threads
    together."""
    problem: str = ""
    """One sentence where it says nothing."""


class Timed(Record):
    """One program in one setup, over every allocator in each round."""

    name: str
    card: Card
    scale: int
    threads: int = 0
    """0: as the program has it."""
    evaluations: int = 0
    """How often everything is gone through; 0 of a program that knows nothing of it."""
    series: list[Series] = []
    """The baseline's first."""
    again: Series | None = None
    """The baseline's second run of each round: what differs there is noise."""
    excluded: str = ""
    """Why there is nothing."""
    notes: list[str] = []

    def of(self, allocator: str) -> Series | None:
        """That allocator's, if it says something."""
        found = (each for each in self.series if each.allocator == allocator and not each.problem)
        return next(found, None)

    @property
    def sound(self) -> list[Series]:
        """Those that say something."""
        return [each for each in self.series if not each.problem]


class Consumption(Record):
    """Memory over time in one run under one allocator: a place in each list for every thousandth call.

    Bytes. What was asked of the system is counted by its calls, what lives by the program itself.
    """

    allocator: str
    calls: list[int] = []
    """Of malloc and free."""
    phases: list[int] = []
    """How many phases all threads had ended by then."""
    live: list[int] = []
    asked: list[int] = []
    resident: list[int] = []
    problem: str = ""


class Summary(Record):
    """What Table 4 and the text say of one run's consumption. Bytes; None: not known."""

    allocator: str
    average: float
    """Asked of the system."""
    maximum: float
    live: float | None = None
    """On average."""
    resident: float | None = None
    """On average."""
    last: float | None = None
    """What was still asked for when all was freed, as a share of the maximum."""
    resident_last: float | None = None
    """What was still resident then, likewise."""
    peak_at: float | None = None
    """At what share of all calls it was greatest."""
    falls: float | None = None
    """By what share it fell between two phases, on average."""
    resident_falls: float | None = None
    """The same of resident memory."""
    fragmentation: list[float] = []
    """By phase: the average of what was asked and did not live."""
