"""Makes an experiment of what was asked for: finds its programs, and refuses what cannot be measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from reap.allocators.records import DEFAULT, Allocator
from reap.base.errors import ExitCode, ReapError
from reap.experiment.records import Asked, Objective, Witnessed
from reap.experiment.sequential import WORTH
from reap.experiment.spec import COUNTERS, SEED, Fragment, Spec, Tune, Variant, state_of
from reap.launch import program as programs
from reap.launch.host import machine
from reap.launch.litter.level import LEVELS, Level
from reap.launch.litter.records import DEFAULT_SEED, Order
from reap.launch.program import Program
from reap.launch.tools import callgrind, counters
from reap.server.records import Server


@dataclass(frozen=True, kw_only=True)
class AskedFragment:
    """Options that make an experiment one on fragmented heaps."""

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
    seed: int = DEFAULT_SEED
    order: Order = "random"
    touch: bool = True
    cut_off: int = 4096
    layouts: int = 2
    huge_pages: bool = False
    """Whether to run everything without transparent huge pages and with them."""
    caches: str = ""
    """COUNTERS, the name of caches to be simulated, or empty for none."""
    controls: bool = True
    """Whether to run what must make no difference; without it runs are saved, and less is known."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Name of the program in the results, and the directory and environment in which it runs."""

    name: str = "command"
    variant: str = "default"
    directory: str = ""
    """Empty: here."""
    environment: Mapping[str, str] = field(default_factory=dict)


COMMAND = Workload()
"""A command that has no card."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Number of the program's runs, and the conditions of each. The fields are named as those of `Spec`."""

    warm_ups: int = 1
    runs: int = 0
    budget: float | None = None
    reserved: float = 0.0
    worth: float = WORTH
    prepare: str = ""
    cleanup: str = ""
    timeout: float | None = None
    stdin: bool = False
    seed: int = SEED
    pairing: Asked = "sequential"
    witness: bool = False
    """Whether instructions are counted, too, in a run of each arm."""
    resident: bool = False
    objective: Objective = "time"


USUAL = Conditions()


def specify(
    command: list[str],
    allocators: list[Allocator],
    *,
    baseline: str = DEFAULT,
    workload: Workload = COMMAND,
    conditions: Conditions = USUAL,
    against: Sequence[Variant] = (),
    scanned: bool = False,
    server: Server | None = None,
    fragmented: AskedFragment | None = None,
    tune: Tune | None = None,
    watched: bool = False,
) -> Spec:
    """Finds the program, puts the baseline first (adding glibc if it is the baseline and was not named).

    With `server` the program is one that is loaded. With `against` it is compared with other commands, each
    by its name, under the baseline; with `scanned` these differ in a parameter. With `fragmented` it is an
    experiment on fragmented heaps, and with `tune` a search for settings. One allocator is enough for these,
    and where the program is `watched`, so that what is to be compared depends on what is seen.
    Throws ReapError if a program cannot be found, executed or entered by a preload (unless all there is to
    compare are variables), or if there is nothing to compare.
    """
    where = str(Path(workload.directory or ".").absolute())
    found = programs.resolve(command, directory=where)
    alone = fragmented is not None or tune is not None or bool(against) or watched
    ordered = baseline_first(allocators, baseline, alone=alone)
    libraries = [each.library for each in ordered if each.library]
    compares = not against and not watched and all(not each.environment for each in ordered)
    if libraries or fragmented or compares:
        for each in (found, *(variant.program for variant in against)):
            programs.require_preloadable(each)
    plan = _fragment(found, where, fragmented) if fragmented else None
    variants = [*(plan.variants if plan else []), *(tune.variants if tune else []), *against]
    images = [path for each in variants for path in _files(each.program)]
    images += _files(server.load) if server else []
    held = {each.name: getattr(conditions, each.name) for each in fields(conditions)}
    held["witness"] = _witness() if conditions.witness else ""
    return Spec(
        workload=workload.name,
        variant=workload.variant,
        program=found,
        directory=where,
        environment=dict(workload.environment),
        allocators=ordered,
        files=[state_of(path) for path in dict.fromkeys([*_files(found), *images, *libraries])],
        against=list(against),
        scanned=scanned,
        server=server,
        fragment=plan,
        tune=tune,
        **held,
    )


def _files(program: Program) -> list[str]:
    return [program.path, program.image]


def _fragment(custom: Program, directory: str, asked: AskedFragment) -> Fragment:
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
            "no level litters the heap",
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
    return Fragment(
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


def _witness() -> Witnessed:
    """Counter of instructions here: the processor, where it lets us, or callgrind. Throws ReapError."""
    if counters.counts("instructions"):
        return "counters"
    callgrind.tool("counts instructions", "--witness")
    return "callgrind"


def _caches(asked: str) -> tuple[str, list[str]]:
    """Caches whose misses are counted, simulated where the processor has no counters; and notes on that."""
    if not asked or (asked == COUNTERS and counters.here()):
        return asked, []
    callgrind.tool()
    if asked != COUNTERS:
        return asked, []
    note = "this machine shows no counters of cache misses: they are those of simulated caches of its sizes"
    return "machine", [note]


def baseline_first(allocators: list[Allocator], baseline: str, *, alone: bool) -> list[Allocator]:
    """These with the baseline before the others; glibc need not be named. Throws ReapError.

    It may be `alone` where something else is compared.
    """
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
