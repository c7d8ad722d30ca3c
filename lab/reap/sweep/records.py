"""Parts of a sweep: its plan, the plan's cells, the blocks that workers run, and their results."""

from typing import Annotated, Literal

import msgspec

from reap.base.records import Estimate, Record
from reap.experiment.records import Pairing, Run, Verdict
from reap.experiment.sequential import WORTH
from reap.experiment.spec import SEED
from reap.launch.records import Machine

HERE = "here"
"""The name of the one worker of a sweep without a cluster."""

Positive = Annotated[float, msgspec.Meta(gt=0)]


class Program(Record):
    """A program of the plan: a command, or a workload's card."""

    name: str = ""
    """In the results; the command's or the card's own by default."""
    command: list[str] = []
    files: list[str] = []
    """What it needs of the plan's folder, itself included: copied to every worker, by content."""
    card: str = ""
    variant: str = "default"
    """Of the card."""
    scale: int | None = None
    """Of the card."""
    environment: dict[str, str] = {}


class Setting(Record):
    """Variables under which every program and allocator is run."""

    name: str
    environment: dict[str, str] = {}


class Kind(Record):
    """A kind of machine: patterns, as of a shell, that the facts of its workers match."""

    name: str
    host: str = "*"
    processor: str = "*"
    kernel: str = "*"
    libc: str = "*"
    huge_pages: str = "*"


class Plan(Record):
    """Contents of plan.toml: each program under each setting is a cell, run on each kind of machine."""

    programs: Annotated[list[Program], msgspec.Meta(min_length=1)]
    allocators: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Names or NAME=FILE, the baseline first."""
    levels: list[str] = []
    """How fragmented heaps are, as of `reap compare --levels`; empty: as they are."""
    settings: list[Setting] = []
    machines: list[Kind] = []
    """Empty: the kinds that the workers are, by processor, kernel, libc and huge pages."""
    rounds: Annotated[int, msgspec.Meta(ge=2)] = 16
    """Of each cell on each kind of machine."""
    warm_ups: Annotated[int, msgspec.Meta(ge=1)] = 1
    timeout: Positive | None = None
    """Seconds for one run."""
    worth: Annotated[float, msgspec.Meta(gt=0, lt=100)] = 100 * WORTH
    """The smallest change that matters, in percent."""
    seed: int = SEED


class SweepCell(Record):
    """A program under a setting, with all that a worker must know to run it."""

    name: str
    program: Program
    environment: dict[str, str]
    """Of the program and of the setting."""
    allocators: list[str]
    levels: list[str]
    warm_ups: int
    rounds: int
    timeout: float | None
    worth: float
    """As a fraction of 1."""
    seed: int
    files: dict[str, str] = {}
    """SHA-256 by name: what must be staged."""
    experiment: str = ""
    """JSON of what makes another experiment of it than the program, as a study's are; empty: none."""


class Sweep(Record):
    """Contents of sweep.json: all that must stay the same when the sweep is resumed."""

    schema: int
    reap_version: str
    created: str
    """ISO 8601, UTC."""
    directory: str
    """Of the plan, whose files are staged."""
    machines: list[Kind]
    cells: list[SweepCell]


class Block(Record):
    """One round of a cell on a kind of machine: what is run, lost and repeated as a whole."""

    cell: str
    kind: str
    round: int

    @property
    def id(self) -> str:
        """A name that no other block of the sweep has."""
        return f"{self.cell}/{self.kind}/{self.round}"


class Facts(Record):
    """Properties of a worker that may change a result."""

    worker: str
    host: str
    reap_version: str
    architecture: str
    machine: Machine
    allocators: dict[str, str]
    """Where each comes from, with the first digits of its file's SHA-256."""
    doctor: list[str] = []
    """What `reap doctor` calls poor there."""
    unfit: str = ""
    """What it calls bad: then nothing is run there."""
    clock: float = 0.0
    """Unix time when it was asked, in seconds."""

    @property
    def kind(self) -> str:
        """The kind of machine, where the plan names none."""
        here = self.machine
        pages = f"THP {here.huge_pages}" if here.huge_pages else "no THP"
        return f"{here.processor}, {here.kernel}, {here.libc}, {pages}"


class Done(Record):
    """A line of blocks.jsonl: a block, where it was run, and its runs."""

    block: Block
    facts: Facts
    runs: list[Run]
    """Of the round; empty where no allocator could be compared."""
    dropped: dict[str, str] = {}
    """By label of the arm: why it is not run there, a sentence."""
    pairing: Pairing = Pairing()
    notes: list[str] = []


class Failed(Record):
    """A block that a worker could not run."""

    block: Block
    worker: str
    problem: str
    hint: str = ""
    every_cell: bool = False
    """Whether that worker could run no block of another cell either."""


class MachineEffect(Record):
    """Effect of an allocator on a machine."""

    host: str
    kind: str
    rounds: int
    ratio: Estimate | None
    """Over its rounds; None of a single one."""


class KindEffect(Record):
    """Effect of an allocator on the machines of a kind together."""

    kind: str
    machines: int
    rounds: int
    ratio: Estimate | None
    verdict: Verdict
    proven: Verdict
    """The verdict by an interval that allows for the number of kinds: all of them hold in 95 % of sweeps."""


class Heterogeneity(Record):
    """Variation between machines, beyond that of rounds."""

    between: float
    """Standard deviation of the effect from machine to machine, of its logarithm."""
    share: float
    """Of all variation of the machines' effects, 0 to 1 (I squared)."""
    p: float
    """Of a difference as large by chance (F test); 1 where it is not known."""


class Effect(Record):
    """One metric of an allocator against the baseline, in a cell at a level."""

    cell: str
    allocator: str
    level: str
    metric: str
    noise: bool
    """Whether it is the baseline against itself."""
    kinds: list[KindEffect]
    machines: list[MachineEffect]
    overall: Estimate | None
    """For machines like these (random effects); None of a single machine."""
    verdict: Verdict
    """Of `overall`; of a single machine, that machine's."""
    heterogeneity: Heterogeneity | None
    helps: list[str]
    """Kinds of machine on which it is proven better; ..."""
    harms: list[str]
    """... and worse. Where there are both, no single answer holds."""


Standing = Literal["helps", "harms", "helps here, harms there", "equivalent", "inconclusive"]


class Answer(Record):
    """Effect of an allocator on a cell's CPU time."""

    cell: str
    allocator: str
    level: str
    standing: Standing
    sentence: str


class SweepResult(Record):
    """Results of the blocks that have ended."""

    cells: list[str]
    baseline: str
    blocks: int
    planned: int
    """Blocks of the plan, on the kinds of machine that were there."""
    hosts: int
    kinds: list[str]
    machines: list[Facts]
    """Of one worker of each machine."""
    effects: list[Effect]
    worth: float
    dropped: list[str] = []
    """Allocators that were not compared somewhere, and why: a sentence each."""
    notes: list[str] = []
