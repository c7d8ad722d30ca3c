"""Spec of an experiment: everything that must be the same when it resumes after a kill."""

from pathlib import Path

import msgspec

from reap.allocators.knobs import Objective
from reap.allocators.records import Allocator
from reap.base.files import digest_of
from reap.base.records import Record
from reap.experiment.littering import litter_of
from reap.experiment.records import Asked, HugePages, Witnessed
from reap.experiment.records import Objective as Compared
from reap.experiment.sequential import WORTH
from reap.launch.litter.level import Level
from reap.launch.litter.records import DEFAULT_SEED, Litter, Order
from reap.launch.program import Program
from reap.recording.analyse.size_profile import SizeProfile
from reap.server import words
from reap.server.records import Server

SEED = 20260101
"""Of the order of runs, so that the same runs give the same figures."""


COUNTERS = "counters"
"""The processor's own caches, by what it counts."""


class File(Record):
    """Enough of a file to see that it was changed."""

    path: str
    bytes: int
    modified_ns: int
    digest: str = ""
    """SHA-256 of what it contains: installed again, it may be the same. Empty in older folders."""


class Variant(Record):
    """One way to run the program on fragmented heaps."""

    name: str
    """`custom` with the allocator of its own, `reap` with this library's instead, `naive` without any, or
    `default` where there is one way."""
    program: Program
    environment: dict[str, str] = {}
    directory: str = ""
    """Where it runs; empty: where the experiment does."""


class Fragment(Record):
    """Parameters of an experiment on fragmented heaps, beside its allocators."""

    variants: list[Variant]
    """The one with its own allocator first; the sizes are taken from the last."""
    levels: list[Level]
    """adv0, to which the others are compared, first."""
    children: bool = False
    """Whether the programs that the program executes are littered, too."""
    seed: int = DEFAULT_SEED
    """Of the litter."""
    order: Order = "random"
    touch: bool = True
    cut_off: int = 4096
    """Blocks of this many bytes and more are no part of the litter."""
    layouts: int = 2
    """How many further address-space layouts are tried, to measure layout bias."""
    huge_pages: list[HugePages] = msgspec.field(default_factory=lambda: [""])
    """What is tried of them; the controls have the first."""
    caches: str = ""
    """Where misses are counted: COUNTERS, or the name of caches to be simulated; empty: nowhere."""
    controls: bool = True
    """Whether what must make no difference is run, too."""
    only_over: dict[str, list[str]] = {}
    """Variants by name that are run over these allocators alone, of which the baseline's is one."""
    notes: list[str] = []
    """What was asked for and is not to be had here."""

    def litter(self, profile: SizeProfile, level: Level) -> Litter:
        """Litter of a heap at a level."""
        return litter_of(
            profile, level, seed=self.seed, order=self.order, touch=self.touch, children=self.children
        )


class Option(Record):
    """One way to set an allocator: a setting of `allocators.knobs` as the installed version knows it."""

    name: str
    about: str
    words: dict[str, str] = {}
    """What is set, without the family's prefix."""
    variant: str = "default"
    """How the program is started: as it is, or the name of a variant."""
    may: list[Objective] = []
    """What it may make less."""
    sign: str = ""
    """What of the first run speaks for trying it early."""
    needs: str = ""
    """What the machine must have for it to do anything; another may not have it."""
    milder: list["Option"] = []
    """What to try where this one wins."""


class Tune(Record):
    """Parameters of a search for settings, beside its one allocator."""

    objectives: list[Objective]
    """What is to be less."""
    options: list[Option]
    """What may be tried first."""
    most: int
    """How often the program may be run in all."""
    extended: int = 0
    """The same once `--resume` has given it more: the search stays as it was, and more rounds confirm."""
    usual: bool = False
    """Whether no objectives were named: then the tail of marked requests is one, too, where there are any."""
    held: dict[str, str] = {}
    """What the environment held of the allocator's settings before; the baseline has it, too."""
    variants: list[Variant] = []
    """Other ways to start the program."""
    notes: list[str] = []
    """Settings that cannot be tried here, and why."""


class Remedied(Record):
    """Parameters of an experiment that tries remedies for memory, beside its arms."""

    most: int
    """Runs in all."""
    left: dict[str, str]
    """Remedies that are not tried, by name, and why."""
    environments: dict[str, dict[str, str]] = {}
    """Variables of each remedy, by its name, as they are for this program."""


class Spec(Record):
    """One program under several allocators."""

    workload: str
    variant: str
    program: Program
    directory: str
    """Where the program runs, absolute."""
    environment: dict[str, str]
    allocators: list[Allocator]
    """The baseline first."""
    files: list[File]
    """The program and the libraries, as they were."""
    warm_ups: int = 1
    """Runs of each arm before the first round, which are not counted; of a server see `Server.warm_ups`."""
    runs: int = 0
    """Rounds; 0: as many as decide it, as far as the program's length and the budget allow."""
    budget: float | None = None
    """Seconds for everything together; None for no bound."""
    reserved: float = 0.0
    """The part of the budget, 0 to 1, that is kept for an experiment that follows from this one."""
    prepare: str = ""
    """A shell command before each run."""
    cleanup: str = ""
    """A shell command after each run."""
    timeout: float | None = None
    """Seconds for one run; None for no bound."""
    worth: float = WORTH
    """The smallest change that matters, as a fraction of 1."""
    stdin: bool = False
    """Whether standard input was spooled."""
    seed: int = SEED
    pairing: Asked = "sequential"
    """Whether the runs of a round are made at the same time on one core."""
    witness: Witnessed = ""
    """What counts the instructions of a run of each arm; empty: nothing."""
    resident: bool = False
    """Whether memory is sampled over each run's time."""
    objective: Compared = "time"
    """What is compared and decides when rounds stop."""
    all_rounds: bool = False
    """Whether no round is left out once all is decided."""
    explains: bool = False
    """Whether its arms tell causes apart: preloads that make a cost larger are not run beyond a warm-up."""
    against: list[Variant] = []
    """Other commands to compare the program with, in place of allocators."""
    scanned: bool = False
    """Whether those are the same command with other values of a parameter, which may change its output."""
    server: Server | None = None
    """How the program is loaded, where it is a server that does not end by itself."""
    fragment: Fragment | None = None
    """For an experiment on fragmented heaps."""
    tune: Tune | None = None
    """For a search for an allocator's settings."""
    remedied: Remedied | None = None
    """For a trial of remedies for memory."""

    @property
    def sequential(self) -> bool:
        """Whether rounds stop once the answer is known."""
        return not self.runs and self.tune is None

    @property
    def verb(self) -> str:
        """The verb that goes on with the experiment."""
        if self.remedied:
            return "rss"
        return "tune" if self.tune else "compare"

    @property
    def again(self) -> list[str]:
        """Arguments that name the program on another command line: its command, or a server's options."""
        if self.server is None:
            return ["--", *self.program.command]
        around = [("--prepare", self.prepare), ("--cleanup", self.cleanup)]
        return [
            *words.options(self.server, self.program.command),
            *words.load_options(self.server),
            *(word for option, value in around if value for word in (option, value)),
        ]

    @property
    def baseline(self) -> Allocator:
        """Allocator that the others are compared with."""
        return self.allocators[0]


def changed_files(spec: Spec) -> list[str]:
    """The files that are not what they were when the experiment began."""
    return [file.path for file in spec.files if not _is_same(file)]


def _is_same(file: File) -> bool:
    try:
        status = Path(file.path).stat()
        if (status.st_size, status.st_mtime_ns) == (file.bytes, file.modified_ns):
            return True
        return state_of(file.path).digest == file.digest
    except OSError:
        return False


def state_of(path: str) -> File:
    """Current state of a file. Throws OSError."""
    status = Path(path).stat()
    return File(path=path, bytes=status.st_size, modified_ns=status.st_mtime_ns, digest=digest_of(Path(path)))
