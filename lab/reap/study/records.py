"""What a study gives: workloads with their experiments, and the published conclusions with their standing."""

from typing import Literal

from reap.analysis.records import Share, Totals
from reap.experiment.card import Card
from reap.experiment.matrix_records import Fragmented
from reap.launch.records import Machine
from reap.records import Estimate, Record

Mode = Literal["quick", "full"]
Standing = Literal["holds", "holds partly", "outdated", "does not hold", "cannot tell"]
Side = Literal["for", "against", "cannot tell"]


class Plan(Record):
    """What is to be measured: written once, so that a study goes on as it began."""

    study: str
    mode: Mode
    workloads: list[str]
    allocators: list[str]


class Measured(Record):
    """One workload of a study."""

    card: Card
    version: str
    """Of its Debian package, or reap's own; empty where dpkg does not know it."""
    scale: int
    result: Fragmented | None = None
    excluded: str = ""
    """Why there is no result."""


class Statistics(Record):
    """How a workload allocates where malloc serves all of it: a line of Table 3 (OOPSLA 2002)."""

    card: Card
    scale: int
    totals: Totals | None = None
    share: Share | None = None
    """Of its CPU time inside the allocator; None where nothing was sampled."""
    excluded: str = ""
    """Why nothing was recorded."""


class Peers(Record):
    """One program with each allocator that has the semantics of regions: Figure 6 (OOPSLA 2002)."""

    measured: Measured
    left_out: dict[str, str]
    """Peers that are not installed, and why nothing is said of them."""


class Point(Record):
    """Memory after so much work, in bytes."""

    work: int
    live: int
    """Asked for and not freed."""
    held: int
    """Taken from the system for it."""


class Curve(Record):
    """Memory as the work goes on."""

    idiom: str
    memory: str
    """`region`, `reap` or `malloc`."""
    points: list[Point]


class Buffers(Record):
    """Idioms that regions cannot serve, in each kind of memory: section 4.3 (OOPSLA 2002)."""

    card: Card
    scale: int
    curves: list[Curve] = []
    excluded: str = ""
    """Why there are none."""


class Mark(Record):
    """The most that one arm had asked the system for: a run beside those that are measured."""

    variant: str
    allocator: str
    asked: int
    """Bytes, as analysis.high_water counts them."""


class Memory(Record):
    """The high-water marks of a workload, for Figures 1 and 5 (OOPSLA 2002)."""

    card: Card
    scale: int
    marks: list[Mark] = []
    excluded: str = ""
    """Why there are none, or not all."""

    def mark(self, variant: str, allocator: str) -> int | None:
        """Bytes; None where it was not seen."""
        found = (each for each in self.marks if (each.variant, each.allocator) == (variant, allocator))
        return next((each.asked for each in found), None)


class Finding(Record):
    """What one figure of one workload says of a conclusion."""

    workload: str
    figure: str
    """Which ratio, in words."""
    ratio: Estimate
    side: Side


class Conclusion(Record):
    """A published conclusion, and what our own figures say of it."""

    question: str
    """The research question, section or figure of the paper that it is of."""
    claim: str
    published: str
    """The paper's own numbers."""
    rule: str
    """When a figure is for it, and when against."""
    standing: Standing
    answer: str
    """In words, from our own numbers."""
    findings: list[Finding]


class Answer(Record):
    """A research question of a paper, answered in words from our own numbers."""

    question: str
    asked: str
    words: list[str]
    """Sentences."""


class Slowdown(Record):
    """What a littered heap did to a region over an allocator."""

    workload: str
    allocator: str
    level: str
    ratio: Estimate
    """CPU time to the same on a clean heap."""
    reached: bool
    """Whether the litter reaches it at all: its chunks come from malloc."""
    causes: list[str]
    """What else changed, where it was slowed much."""


class Study(Record):
    """A study as far as it went. This is what its data file holds."""

    plan: Plan
    reap_version: str
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    measured: list[Measured]
    conclusions: list[Conclusion]
    answers: list[Answer] = []
    slowdowns: list[Slowdown] = []
    simulated: list[Measured] = []
    """Of regions that were slowed much: once more, in simulated caches."""
    occupancy: list[Measured] = []
    """Of Figure 3 (ISMM 2026): other levels, one allocator, simulated caches."""
    statistics: list[Statistics] = []
    """Of Table 3 (OOPSLA 2002)."""
    peers: Peers | None = None
    """Of Figure 6 (OOPSLA 2002); None where its workload was not asked for."""
    buffers: Buffers | None = None
    """Of section 4.3 (OOPSLA 2002); None likewise."""
    memory: list[Memory] = []
    """Of Figures 1 and 5 (OOPSLA 2002)."""
