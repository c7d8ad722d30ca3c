"""The shape of an experiment: cells, their runs, and the comparison drawn from them.

An experiment is a table of cells. A cell is a plain record that could be run anywhere; a run is a
cell and what came of it. Runs are appended to the experiment's folder as they end. Cells that differ in
their round alone are one *arm* of the experiment.
"""

from typing import Literal

from reap.base.records import Estimate, Record
from reap.experiment.sequential import WORTH
from reap.launch.records import Misses, Outcome, Private

Verdict = Literal["better", "worse", "equivalent", "inconclusive"]
HugePages = Literal["", "off", "on"]
Method = Literal["simultaneous", "sliced", "sequential"]
Turns = Literal["", "freezer", "signals"]
Asked = Literal["auto", "simultaneous", "sliced", "sequential"]


Witnessed = Literal["", "counters", "callgrind"]
Objective = Literal["time", "settled", "mean", "peak"]
"""What a comparison is to decide: time, or memory settled, in the mean or at its peak."""


class Pairing(Record):
    """Pairing of the runs of a round."""

    method: Method = "sequential"
    """At the same time on one core, in short turns on all cores, or one after another."""
    reason: str = ""
    """Why one after another or in turns, where that was not asked for."""
    turns: Turns = ""
    """What makes the turns: the freezer of cgroups, or SIGSTOP and SIGCONT where no cgroup can be made."""
    restarts: bool = False
    """Whether runs that end much before the longest of their round are restarted, to share the core with it
    to its end. What is restarted is not measured."""
    private: Private | None = None
    """The folders of which each run has a copy-on-write view for itself, where copies would meet there."""
    groups: int = 1
    """In how many groups the runs of a round take turns, one group after another, since memory does not hold
    all at once. Runs over one allocator are in one group, as far as may be."""


BARE = "none"
"""The level of a program that runs as it is, without any preload that could litter its heap."""


class Cell(Record):
    """One thing to run: a few coordinates, all of them data."""

    workload: str
    """Name of a card, or `command` for a program named on the command line."""
    variant: str = "default"
    """`custom`, `naive` or `default`: which of the card's command lines."""
    allocator: str = "glibc"
    """An allocator's name in the catalogue, or NAME of NAME=/path."""
    level: str = BARE
    """How fragmented the heap is made before the program starts: `none`, or a level's name."""
    layout: int = 0
    """Where stack and libraries lie: 0 as they come, any other moved in its own way."""
    huge_pages: HugePages = ""
    """Whether the allocator asks for transparent huge pages and gets them; empty: as the machine is set."""
    environment: dict[str, str] = {}
    """Variables beyond those of the allocator and the variant."""
    repeat: int = 0
    """The round: cells of one round are run side by side and paired."""
    control: bool = False
    """The baseline's second run of a round: beside the first, it shows what is noise."""
    sampled: bool = False
    """A run that is sampled from outside, to see where its time goes. Its own time counts for nothing."""
    simulated: bool = False
    """A run in simulated caches. Its time counts for nothing."""
    counted: str = ""
    """A run in which the processor counts this event (see `counters.EVENTS`). Its time counts for nothing."""

    def arm(self) -> str:
        """Identifier of the arm, common to all of its runs and unique within an experiment."""
        env = ",".join(f"{k}={v}" for k, v in sorted(self.environment.items()))
        layout = f"{self.layout}{self.huge_pages}"
        return "/".join([self.workload, self.variant, self.allocator, self.level, layout, env])

    def key(self) -> str:
        """A name that no other cell of an experiment has; the same in every process."""
        kind = f"{'c' * self.control}{'s' * self.sampled}{'m' * self.simulated}{self.counted}"
        return f"{self.arm()}/{self.repeat}{kind}"


class Laid(Record):
    """The cost of all litterings of one run, which is already subtracted from its time and faults."""

    objects: int
    kept_bytes: int
    """What stays in use."""
    cpu_ns: int
    wall_ns: int
    resident: int
    """Resident memory that littering added, in bytes, in the process where it added most."""
    threads: int
    """How many threads littered."""
    provider: str = ""
    """The end of the path of the file that served it."""
    failure: str = ""
    """Why some of it is missing, in words."""
    lost: int = 0
    """Litterings that had no space to report: their cost is not subtracted."""
    deepbind: int = 0
    """How often something was opened with RTLD_DEEPBIND: no preload sees its malloc."""
    beside: int = 0
    """Threads that were blocked while their creators waited: the program ran during their littering."""
    uncounted: int = 0
    """Processes that littered and for which nobody waited: the kernel counts nothing of them."""
    overwritten: bool = False
    """The program overwrote what its threads reported: the cost is not subtracted."""


class Samples(Record):
    """Counts of instruction pointers that show where a sampled run spent its time, littering left out."""

    all: int
    inside: int
    """In the allocator, or in the kernel on its behalf."""
    kernel: bool
    """Whether time in the kernel could be sampled."""
    method: Literal["perf", "timer"] = "perf"
    """Perf events from outside; or a timer in the program, which sees it less often."""


class Run(Record):
    """A cell and what came of it."""

    cell: Cell
    outcome: Outcome
    order: int
    """Place in the sequence of all runs, from 0."""
    started: float
    """Unix time in seconds."""
    warmup: bool = False
    together: bool = False
    """Whether it shared its core, or took turns, with the other runs of its round."""
    in_turns: bool = False
    """Whether it took turns: then its wall time is that of its own turns."""
    seconds: float = 0.0
    """What the run took in all, its preparation and clean-up included."""
    others: float | None = None
    """Share of the cores' time that other programs took meanwhile. The kernel's ticks are coarse: of a short
    run it may be a little below 0. None where it is not known."""
    laid: Laid | None = None
    """What was done to its heap first; None where nothing was to be."""
    samples: Samples | None = None
    """Where its time went, if it was sampled."""
    misses: Misses | None = None
    """What it did to simulated caches, if it ran in these."""


class Ratio(Record):
    """One metric of one allocator against the baseline, over paired rounds."""

    metric: str
    """`cpu`, `wall`, `peak_resident`, `minor_faults`, `major_faults`, `voluntary_switches` or
    `involuntary_switches`; of a server whose requests are counted `cpu_per_request` and, if servers ran one
    after another, `throughput`, and of a load at a fixed rate `latency_mean`, `latency_p50`, `latency_p99`
    and `latency_p999` as far as it reports them; where memory was sampled over time `mean_resident` and
    `settled_resident`; of a program that marks its requests `request_p50`, `request_p99`, `request_p999` and
    `request_rate`, too, as far as it marks enough of them."""
    unit: str
    """`s`, `bytes`, `count` or `per_second`."""
    baseline: float
    """Median of the baseline, in the unit."""
    value: float
    """Median of the allocator, in the unit."""
    ratio: Estimate
    """Value / baseline of a typical round, with its 95 % CI; below 1 is less."""
    pairs: list[float]
    """The ratio of every round, in order."""
    verdict: Verdict
    """`equivalent` where all of the interval is within what is worth a change (`Comparison.worth`), else
    `inconclusive` where it holds 1."""
    more_is_better: bool = False
    """For requests per second; for everything else lower is better."""

    @property
    def typical(self) -> float:
        """The baseline's median times the ratio. `value` may say less where the ratio says more."""
        return self.baseline * self.ratio.value


class Side(Record):
    """One allocator in a comparison."""

    allocator: str
    rounds: int
    """How many rounds this allocator finished beside the baseline."""
    verified: bool
    """Whether malloc really came from it."""
    provider: str
    """The file that malloc came from."""
    ratios: dict[str, Ratio]
    """By metric."""
    same_output: bool | None
    """Whether output agreed with the baseline's; None where the program's output varies by itself."""
    same_exit: bool
    problem: str = ""
    """One sentence where this allocator could not be compared."""
    environment: dict[str, str] = {}
    """The variables that were set for it, merged with what the program is started with anyway."""
    itself: bool = False
    """Whether the same file serves the program under the baseline, so that it is compared with itself."""
    unpaired: float | None = None
    """Of runs at the same time, the part of the longer run of a pair in which the other arm did not run, in
    the median: it is not paired. None of other runs."""


class Spread(Record):
    """Differences in CPU time between two identical servers: standard deviations of logarithms."""

    load: float
    """From load to load of a start."""
    start: float
    """From start to start, beside that: their address-space layouts, and what else a start decides."""


class InRounds(Record, frozen=True, kw_only=True):
    """Results for a program that was measured in paired rounds."""

    noise: dict[str, Ratio]
    """By metric: the baseline against itself, paired in the same rounds. What is within it is noise."""
    exit_code: int
    """The program's own status under the baseline."""
    last_words: str = ""
    """The last line of its standard error, where that status is not 0."""
    stdout_varies: bool
    """Whether two runs under the baseline differed in output, so that output cannot be compared."""
    stopped_early: bool = False
    """Whether the budget ended before all rounds were run."""
    decided: bool = False
    """Whether rounds ended because every ratio that counts was decided, by intervals that allow for it."""
    widening: float = 1.0
    """Width of its intervals in intervals for a fixed number of rounds."""
    worth: float = WORTH
    """The smallest change that matters, as a fraction of 1."""
    others: float | None = None
    """Share of the cores' time that other programs took during the rounds, 0 to 1; None where unknown."""


class Witness(Record):
    """Instructions in user mode, of one run of each: beside time a second witness, with hardly any noise."""

    by: Witnessed
    """The processor's counters, or callgrind."""
    baseline: int
    counts: dict[str, int]
    """By the names of the sides that did as the baseline does."""


class Comparison(InRounds, frozen=True, kw_only=True):
    """Allocators compared on one program."""

    workload: str
    command: list[str]
    baseline: str
    rounds: int
    sides: list[Side]
    """The allocators, the baseline not among them, in the order they were asked for."""
    round_seconds: float = 0.0
    """What a round takes; 0 where that is unknown."""
    needed_budget: float = 0.0
    """Seconds that two rounds take, where the budget was too short for them."""
    pairing: Pairing = Pairing()
    objective: Objective = "time"
    """What the verdict is on."""
    load: list[str] = []
    """The command that loads the server; empty where the program is none, and ends by itself."""
    loads: int = 0
    """Measured loads of each start of the server."""
    due_per_second: float = 0.0
    """Requests of a load at a fixed rate, of which latency is known; 0 of any other load."""
    spread: Spread | None = None
    """Of a server that is loaded several times a start: how far its CPU time strays."""
    against: dict[str, list[str]] = {}
    """Commands by the names of their sides, where commands are compared and not allocators."""
    witness: Witness | None = None
    """Where it was asked for."""
    scanned: bool = False
    """Whether those differ in the value of a parameter: output is not compared."""
    preloaded: str = ""
    """What LD_PRELOAD names for the program anyway, after the allocator of each side."""
    notes: list[str] = []
