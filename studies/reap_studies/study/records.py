"""What a study gives: workloads with their experiments, and the published conclusions with their standing."""

from typing import Literal

from reap.api import MOST_ROUNDS, Estimate, Fragmented, Machine, Record, Totals
from reap.api import AllocatorShare as Share
from reap_studies.study.allocator_wall.records import Wall
from reap_studies.study.allocators.records import Consumption, Summary, Timed
from reap_studies.study.oopsla2002.drag.records import Dragged
from reap_studies.workloads.records import Card

Mode = Literal["quick", "full"]
Standing = Literal[
    "holds", "holds partly", "outdated", "does not hold", "inconclusive", "not measurable here"
]
Side = Literal["for", "against", "inconclusive"]


class Plan(Record):
    """What is to be measured: written once, so that a study goes on as it began."""

    study: str
    mode: Mode
    workloads: list[str]
    allocators: list[str]
    named: bool = False
    """Whether the workloads were chosen by name, and are not all that the study knows."""
    added: list[str] = []
    """Allocators that were named beside the study's own, as on a command line."""
    programs: list[str] = []
    """Those that the user brought, as NAME=FOLDER."""
    rounds: int = MOST_ROUNDS
    """At most so many of each experiment of a full study, however wide its intervals are."""

    @property
    def command(self) -> list[str]:
        """The command line that makes such a study."""
        chosen = ["--workloads", ",".join(self.workloads)] if self.named else []
        added = [word for each in self.added for word in ("--allocator", each)]
        added += [word for each in self.programs for word in ("--program", each)]
        most = ["--rounds", str(self.rounds)] if self.rounds != MOST_ROUNDS else []
        return ["reap", "study", self.study, f"--{self.mode}", *chosen, *added, *most]


class Measured(Record):
    """One workload of a study."""

    card: Card
    version: str
    """Of its Debian package, or reap's own; empty where dpkg does not know it."""
    scale: int
    result: Fragmented | None = None
    excluded: str = ""
    """Why there is no result."""
    wide: list[str] = []
    """Which ratios of CPU time have a 95 % CI that is 5 % of the ratio wide or more, from end to end,
    in words; of each sound arm that to the baseline, that to itself at adv0 and that to custom are looked at.
    Those of a full study are so after as many rounds as it runs at most."""


class Counted(Record):
    """What a study takes of one workload in a run beside its experiments, and keeps."""

    card: Card
    scale: int
    version: str = ""
    """As of a Measured."""
    excluded: str = ""
    """Why there is nothing, or not all."""


class Statistics(Counted):
    """How a workload allocates where malloc serves all of it: a line of Table 3 (OOPSLA 2002)."""

    totals: Totals | None = None
    share: Share | None = None
    """Of its CPU time inside the allocator; None where nothing was sampled."""


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


class Buffers(Counted):
    """Idioms that regions cannot serve, in each kind of memory: section 4.3 (OOPSLA 2002)."""

    curves: list[Curve] = []


class Mark(Record):
    """The most that one arm had asked the system for: a run beside those that are measured."""

    variant: str
    allocator: str
    asked: int
    """Bytes, as analysis.high_water counts them."""


class Memory(Counted):
    """The high-water marks of a workload, for Figures 1 and 5 (OOPSLA 2002)."""

    marks: list[Mark] = []

    def mark(self, variant: str, allocator: str) -> int | None:
        """Bytes; None where it was not seen."""
        found = (each for each in self.marks if (each.variant, each.allocator) == (variant, allocator))
        return next((each.asked for each in found), None)


class Pooled(Record):
    """What a request took that is a program of malloc and free, in one kind of pools. Bytes."""

    way: str
    objects: int
    """How many it made."""
    asked: int
    """What it asked for, all together."""
    freed: int
    """How many objects were freed before the request ended."""
    held: int
    """What its pool held at the end; 0 where that is not known."""
    resident: list[int]
    """By how much the server grew, in each round."""
    peak_resident: list[int]
    """The server's most resident memory, in each round."""


class Apache(Counted):
    """Reaps in Apache: section 7.5 (OOPSLA 2002)."""

    pooled: list[Pooled] = []
    lines: int = 0
    """Of the program that became a module."""
    memory_lines: int = 0
    """In which malloc and free are the pool's."""
    other_lines: int = 0
    """In which files and exit are the module's."""


class Drag(Counted):
    """What a workload holds and needs no more: a line of Table 4, a bar of Figure 7 (OOPSLA 2002)."""

    objects: Dragged | None = None
    """Of what the program allocates, each by itself; None where that cannot be seen."""
    chunks: Dragged | None = None
    """Of malloc's blocks under its own allocator; None for ordinary programs, and where it was not seen."""
    notes: list[str] = []
    """What is to be known of these, and why one of them is missing."""


class Consumed(Counted, kw_only=True):
    """The benchmark program once under each allocator: Figure 3 (the evaluation of six allocators)."""

    threads: int
    runs: list[Consumption] = []
    """The first of each, or why there is none."""
    summaries: list[Summary] = []
    """Of every run, in the order in which they were made."""


class Evaluated(Record):
    """General-purpose allocators, as the evaluation of six of them measured them."""

    threads: int
    """How many there are in Table 2: a thread for each core."""
    timed: list[Timed]
    consumed: Consumed | None = None
    summaries: list[Summary] = []
    """Of all of its runs, for Table 4."""

    def named(self, name: str) -> Timed | None:
        """The setup of that name, if it was measured."""
        return next((each for each in self.timed if each.name == name and each.series), None)

    @property
    def allocators(self) -> set[str]:
        """Those over which something was measured."""
        timed = {series.allocator for each in self.timed for series in each.series}
        return timed | {each.allocator for each in self.summaries}

    def summed(self, allocator: str) -> list[Summary]:
        """That allocator's runs."""
        return [each for each in self.summaries if each.allocator == allocator]


class Finding(Record):
    """What one figure of one workload says of a conclusion."""

    workload: str
    figure: str
    """Which ratio, in words."""
    ratio: Estimate
    side: Side
    excluded: list[str] = []
    """Names of the exclusions that leave it out; it counts where there are none."""
    original: bool = False
    """Whether the workload is the paper's own program."""


class Variation(Record):
    """How a conclusion would stand by other evidence."""

    what: str
    """Which, in words: `originals alone`."""
    programs: int
    standing: Standing
    mean: Estimate | None = None
    """Over these programs; of one its own; None of two, or where the conclusion is about several means."""


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
    """Of all that was measured, whether it counts or not."""
    id: str = ""
    """Of the claim in the study's claims.toml; empty in what older versions wrote."""
    mean: Estimate | None = None
    """Over the programs that count; None of two, and where it is about several means."""
    means: dict[str, Estimate] = {}
    """By figure, over the programs that count, where it is about these."""
    flips: dict[str, Standing] | None = None
    """How it stands without a program, where that differs; None where these are not counted or too few."""
    sensitivity: list[Variation] = []
    """By originals alone, by toys alone, and without each exclusion, where that is other evidence."""


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
    controls: list[str] = []
    """Those that failed, in sentences: then small effects may be artefacts of the method."""
    departures: dict[str, str] = {}
    """Stand-ins that are no evidence, and by how much they depart from the artefact's data."""
    answers: list[Answer] = []
    slowdowns: list[Slowdown] = []
    simulated: list[Measured] = []
    """Of regions that were slowed much: once more, in simulated caches."""
    occupancy: list[Measured] = []
    """Of Figure 3 (ISMM 2026): other levels, one allocator, simulated caches."""
    statistics: list[Statistics] = []
    """Of Table 3 (OOPSLA 2002)."""
    peers: list[Peers] = []
    """Of Figure 6 (OOPSLA 2002), those of its programs that were asked for."""
    buffers: Buffers | None = None
    """Of section 4.3 (OOPSLA 2002); None likewise."""
    memory: list[Memory] = []
    """Of Figures 1 and 5 (OOPSLA 2002)."""
    apache: Apache | None = None
    """Of section 7.5 (OOPSLA 2002); None where its workload was not asked for."""
    drag: list[Drag] = []
    """Of Table 4 and Figure 7 (OOPSLA 2002)."""
    wall: Wall | None = None
    """Of the allocator wall."""
    evaluated: Evaluated | None = None
    """Of the evaluation of six allocators."""
