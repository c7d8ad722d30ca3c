"""What an experiment is: everything that must be the same when it goes on after a kill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from reap.allocators.knobs import Objective
from reap.allocators.records import DEFAULT, Allocator
from reap.analysis.size_profile import SizeProfile
from reap.errors import ExitCode, ReapError
from reap.experiment.fragment import litter_of
from reap.experiment.records import HugePages
from reap.launch import callgrind, counters, machine
from reap.launch import litter as littering
from reap.launch import program as programs
from reap.launch.level import LEVELS, Level
from reap.launch.litter import Litter
from reap.launch.program import Program
from reap.records import Record

SEED = 20260101
"""Of the order of runs and of the bootstrap, so that the same runs give the same figures."""


COUNTERS = "counters"
"""The processor's own caches, by what it counts."""


class File(Record):
    """Enough of a file to see that it was changed."""

    path: str
    bytes: int
    modified_ns: int


class Variant(Record):
    """One way to run the program of a matrix."""

    name: str
    """`custom` with the allocator of its own, `reap` with this library's instead, `naive` without any, or
    `default` where there is one way."""
    program: Program
    environment: dict[str, str] = {}


class Matrix(Record):
    """What an experiment on fragmented heaps has beside its allocators."""

    variants: list[Variant]
    """The one with its own allocator first; the sizes are taken from the last."""
    levels: list[Level]
    """adv0, to which the others are compared, first."""
    children: bool = False
    """Whether the programs that the program executes are littered, too."""
    seed: int = littering.DEFAULT_SEED
    """Of the litter."""
    order: littering.Order = "random"
    touch: bool = True
    cut_off: int = 4096
    """Blocks of this many bytes and more are no part of the litter."""
    layouts: int = 2
    """How many other places of stack and libraries are tried, to see what luck with them does."""
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
        """What heaps are littered with at a level."""
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
    """What a search for settings has beside its one allocator."""

    objectives: list[Objective]
    """What is to be less."""
    options: list[Option]
    """What may be tried first."""
    most: int
    """How often the program may be run in all."""
    usual: bool = False
    """Whether no objectives were named: then the tail of marked requests is one, too, where there are any."""
    held: dict[str, str] = {}
    """What the environment held of the allocator's settings before; the baseline has it, too."""
    variants: list[Variant] = []
    """Other ways to start the program."""
    notes: list[str] = []
    """Settings that cannot be tried here, and why."""


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
    runs: int = 0
    """Rounds; 0: as many as suit the program's length and the budget."""
    budget: float | None = None
    """Seconds for everything together; None for no bound."""
    prepare: str = ""
    """A shell command before each run."""
    cleanup: str = ""
    """A shell command after each run."""
    timeout: float | None = None
    """Seconds for one run; None for no bound."""
    stdin: bool = False
    """Whether standard input was spooled."""
    seed: int = SEED
    requests: bool = False
    """Whether its marked requests are what was asked for: it is an error if it marks none."""
    resident: bool = False
    """Whether resident memory is looked at over each run's time."""
    matrix: Matrix | None = None
    """For an experiment on fragmented heaps."""
    tune: Tune | None = None
    """For a search for an allocator's settings."""

    @property
    def verb(self) -> str:
        """The verb that goes on with the experiment."""
        return "tune" if self.tune else "compare"

    @property
    def baseline(self) -> Allocator:
        """What the others are compared with."""
        return self.allocators[0]


@dataclass(frozen=True, kw_only=True)
class Fragmented:
    """What makes an experiment one on fragmented heaps."""

    levels: Sequence[Level]
    """adv0 is one of them, said or not."""
    clean: bool = False
    """Whether adv0 may be the only one: variants compared over allocators, on heaps that nothing litters."""
    naive: Sequence[str] = ()
    """The command of the variant without its own allocator; empty: the same command."""
    naive_environment: Mapping[str, str] = field(default_factory=dict)
    """By which that variant is switched; empty with an empty command: there is none."""
    replaced: Sequence[str] = ()
    """The command of a variant `reap`, with this library's allocator in place of its own; empty: none."""
    replaced_environment: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = field(default_factory=dict)
    """Further variants by name, with the allocators of others: command and environment."""
    replaced_over: Sequence[str] = ()
    """The allocators over which that one is run; empty: over all."""
    children: bool = False
    seed: int = littering.DEFAULT_SEED
    order: littering.Order = "random"
    touch: bool = True
    cut_off: int = 4096
    layouts: int = 2
    huge_pages: bool = False
    """Whether to run everything without transparent huge pages and with them."""
    caches: str = ""
    """COUNTERS, the name of caches to be simulated, or empty for none."""
    controls: bool = True
    """Whether to run what must make no difference; without it runs are saved, and less is known."""


def specify(
    command: list[str],
    allocators: list[Allocator],
    *,
    baseline: str = DEFAULT,
    workload: str = "command",
    variant: str = "default",
    directory: str = "",
    environment: Mapping[str, str] | None = None,
    runs: int = 0,
    budget: float | None = None,
    prepare: str = "",
    cleanup: str = "",
    timeout: float | None = None,
    stdin: bool = False,
    seed: int = SEED,
    requests: bool = False,
    resident: bool = False,
    fragmented: Fragmented | None = None,
    tune: Tune | None = None,
) -> Spec:
    """Finds the program, puts the baseline first (adding glibc if it is the baseline and was not named).

    With `fragmented` it is an experiment on fragmented heaps, and with `tune` a search for settings; one
    allocator is enough for these. Throws ReapError if a program cannot be found, executed or entered by a
    preload (unless all there is to compare are variables), or if there is nothing to compare.
    """
    where = str(Path(directory or ".").absolute())
    found = programs.resolve(command, directory=where)
    ordered = _baseline_first(allocators, baseline, alone=fragmented is not None or tune is not None)
    libraries = [each.library for each in ordered if each.library]
    if libraries or fragmented or all(not each.environment for each in ordered):
        programs.require_preloadable(found)
    matrix = _matrix(found, where, fragmented) if fragmented else None
    variants = [*(matrix.variants if matrix else []), *(tune.variants if tune else [])]
    images = [path for each in variants for path in _files(each.program)]
    return Spec(
        workload=workload,
        variant=variant,
        program=found,
        directory=where,
        environment=dict(environment or {}),
        allocators=ordered,
        files=[_state(path) for path in dict.fromkeys([*_files(found), *images, *libraries])],
        runs=runs,
        budget=budget,
        prepare=prepare,
        cleanup=cleanup,
        timeout=timeout,
        stdin=stdin,
        seed=seed,
        requests=requests,
        resident=resident,
        matrix=matrix,
        tune=tune,
    )


def changed_files(spec: Spec) -> list[str]:
    """The files that are not what they were when the experiment began."""
    return [file.path for file in spec.files if not Path(file.path).exists() or _state(file.path) != file]


def _state(path: str) -> File:
    status = Path(path).stat()
    return File(path=path, bytes=status.st_size, modified_ns=status.st_mtime_ns)


def _files(program: Program) -> list[str]:
    return [program.path, program.image]


def _matrix(custom: Program, directory: str, asked: Fragmented) -> Matrix:
    if asked.huge_pages and machine.describe().huge_pages not in ("always", "madvise"):
        raise ReapError(
            "this kernel gives no transparent huge pages",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            ExitCode.FAILED,
        )
    caches, notes = _caches(asked.caches)
    clean = LEVELS["adv0"]
    levels = [clean, *(level for level in asked.levels if level.multiplier > 0)]
    if len(levels) == 1 and not asked.clean:
        raise ReapError(
            "every level is one at which nothing is littered",
            "give one more, as in --levels adv0,adv3",
            ExitCode.USAGE,
        )
    variants = [Variant(name="default", program=custom)]
    if asked.naive or asked.naive_environment:
        naive = programs.resolve(list(asked.naive), directory=directory) if asked.naive else custom
        programs.require_preloadable(naive)
        variants = [
            Variant(name="custom", program=custom),
            Variant(name="naive", program=naive, environment=dict(asked.naive_environment)),
        ]
        if asked.replaced:
            ours = programs.resolve(list(asked.replaced), directory=directory)
            programs.require_preloadable(ours)
            environment = dict(asked.replaced_environment)
            variants.insert(1, Variant(name="reap", program=ours, environment=environment))
        for name, (command, variables) in asked.peers.items():
            peer = programs.resolve(list(command), directory=directory)
            programs.require_preloadable(peer)
            variants.insert(-1, Variant(name=name, program=peer, environment=dict(variables)))
    return Matrix(
        variants=variants,
        levels=levels,
        children=asked.children,
        seed=asked.seed,
        order=asked.order,
        touch=asked.touch,
        cut_off=asked.cut_off,
        layouts=asked.layouts,
        huge_pages=["off", "on"] if asked.huge_pages else [""],
        caches=caches,
        controls=asked.controls,
        only_over={"reap": list(asked.replaced_over)} if asked.replaced and asked.replaced_over else {},
        notes=notes,
    )


def _caches(asked: str) -> tuple[str, list[str]]:
    """Where misses are counted, which is in a model of this machine where its processor shows no counters."""
    if not asked or (asked == COUNTERS and counters.here()):
        return asked, []
    callgrind.tool()
    if asked != COUNTERS:
        return asked, []
    note = "this machine shows no counters of cache misses: they are those of simulated caches of its sizes"
    return "machine", [note]


def _baseline_first(allocators: list[Allocator], baseline: str, *, alone: bool) -> list[Allocator]:
    named = {each.name: each for each in allocators}
    if baseline not in named:
        if baseline != DEFAULT:
            raise ReapError(
                f"the baseline {baseline} is not among the allocators",
                f"add it: --allocators {','.join([baseline, *named])}",
                ExitCode.USAGE,
            )
        named[baseline] = Allocator(name=DEFAULT)
    others = [each for name, each in named.items() if name != baseline]
    if not others and not alone:
        raise ReapError(
            f"there is nothing to compare {baseline} with",
            "name other allocators, as in --allocators glibc,jemalloc; `reap allocators` lists them",
            ExitCode.USAGE,
        )
    return [named[baseline], *others]
