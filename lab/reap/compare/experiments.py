"""An experiment on a command line's program: what `reap compare` and `reap run` share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
import msgspec

from reap.allocators import catalog
from reap.allocators.records import DEFAULT, Allocator
from reap.base.errors import ExitCode, ReapError
from reap.commandline import groups, servers
from reap.commandline.experiments import RUNS, new_folder, reopened, running
from reap.commandline.sections import section
from reap.commandline.size import SECONDS
from reap.commandline.stdin import spooled
from reap.commandline.written import written
from reap.compare import run as comparing
from reap.compare.levels import options as level_options
from reap.compare.levels.options import Heaps
from reap.compare.levels.run import PROFILE
from reap.experiment.folder import Folder
from reap.experiment.records import Asked, Comparison, Objective
from reap.experiment.sequential import WORTH
from reap.experiment.spec import Variant
from reap.experiment.specify import COMMAND, Conditions, Workload, specify
from reap.fragment.run import load_profile
from reap.launch import program as programs
from reap.recording.analyse.size_profile import encode
from reap.server.records import Server

USUAL = ("glibc", "jemalloc", "mimalloc", "tcmalloc")
"""Compared by default, as far as they are installed."""

LAST_RESORT = "reap"
"""What glibc is compared with where none of the others is installed: it comes with Reap."""


_MORE = {"--runs", "--budget"}
"""What a resumed experiment may be given more of."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options that say what the experiment is; a resumed one takes `_MORE` of them."""

    allocators: str | None
    baseline: str
    warmup: int
    runs: int | None
    budget: float | None
    worth: float
    timeout: float | None
    prepare: str
    cleanup: str
    pairing: Asked
    witness: str | None = None
    objective: Objective = "time"


_Verb = TypeVar("_Verb", bound=Callable[..., Any])

Arms = Callable[[Sequence[Allocator], programs.Program], list[Allocator]]
"""Makes the arms of an experiment of the allocators that were asked for and the program."""


def unchanged(allocators: Sequence[Allocator], _: programs.Program) -> list[Allocator]:
    """Returns the allocators that were asked for."""
    return list(allocators)


def options(verb: _Verb) -> _Verb:
    """Gives a verb the options of an experiment, and its command; the verb hands them to `opened`."""
    decorate = section(
        RUNS,
        groups.names("-a", "--allocators", help="Names or NAME=/path/lib.so"),
        click.option(
            "--baseline",
            default="glibc",
            show_default=True,
            help="Allocator that the others are compared with.",
        ),
        click.option(
            "--warmup",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            metavar="N",
            help="Runs of each allocator or command before the first round, not counted; with --server loads "
            "of each start before the measured ones.",
        ),
        click.option(
            "-n",
            "--runs",
            type=click.IntRange(min=2),
            help="Run a fixed number of rounds. By default rounds stop once every allocator is decided, or "
            "after at most 48 rounds in about a minute.",
        ),
        click.option("--budget", type=SECONDS, help="Time limit in seconds for all runs together."),
        click.option(
            "--worth",
            type=groups.Percent(),
            default=WORTH,
            metavar="PERCENT",
            help="Smallest change that matters; a change proven smaller is reported as equivalent. "
            "[default: 3%]",
        ),
        click.option(
            "--pairing",
            type=click.Choice(get_args(Asked)),
            default="auto",
            show_default=True,
            help="Run the arms of a round at the same time on one core, or one after another; auto: at the "
            "same time if copies of CMD cannot interfere. sliced: in short turns on all cores, for "
            "programs that use several.",
        ),
    )
    return decorate(running(verb))


def opened(
    context: click.Context,
    command: tuple[str, ...],
    output: Path | None,
    resume: Path | None,
    *,
    force: bool,
    heaps: Heaps | None = None,
    against: Sequence[Variant] = (),
    scanned: Sequence[Variant] = (),
    server: Server | None = None,
    arms: Arms = unchanged,
    reserved: float = 0.0,
    **given: Any,  # noqa: ANN401 - click's; Options says their types
) -> Folder:
    """The experiment that a verb's options name: a new one, or one to go on with. Throws ReapError.

    With `heaps` a new one is on these, with `against` of other commands, with `scanned` of one command with
    several values of its parameters, and with `server` of a server under load. `arms` makes its allocators of
    those that were asked for; `reserved` is the part of a budget that is left to what follows.
    """
    options, words = Options(**given), list(command)
    if resume:
        return _resumed(context, resume, words, options)
    against = scanned[1:] if scanned else against
    _require_fitting(options, heaps, against, scanned=bool(scanned))
    found = programs.resolve(words)
    allocators, missing = (
        _base_alone(options.baseline)
        if against
        else choose(options.allocators, alone=bool(heaps), linked=found.stands_aside)
    )
    watched = False
    if arms is not unchanged:
        watched = bool(found.obstacle) and not (found.sanitizer or options.allocators or server)
        allocators = allocators[:1] if watched else arms(allocators, found)
    more = {}
    if heaps and heaps.profile:
        more[PROFILE] = encode(load_profile(heaps.profile, cut_off=heaps.fragment.cut_off))
    stdin = spooled() if server is None else None
    if server is not None:
        server = msgspec.structs.replace(server, warm_ups=options.warmup)
    spec = specify(
        words,
        allocators,
        against=against,
        workload=Workload(variant=scanned[0].name) if scanned else COMMAND,
        scanned=bool(scanned),
        server=server,
        fragmented=heaps.fragment if heaps else None,
        watched=watched,
        baseline=options.baseline,
        conditions=Conditions(
            warm_ups=options.warmup if server is None else 1,
            runs=options.runs or 0,
            budget=options.budget,
            reserved=reserved,
            worth=options.worth,
            prepare=options.prepare,
            cleanup=options.cleanup,
            timeout=options.timeout,
            stdin=stdin is not None,
            witness=bool(options.witness),
            pairing=_pairing(options),
            resident=heaps is None,
            objective=options.objective,
        ),
    )
    if heaps and not heaps.fragment.clean and spec.fragment is not None:
        for variant in spec.fragment.variants:
            programs.require_litterable(variant.program)
    if missing:
        click.echo(missing, err=True)
    return Folder.create(output or new_folder(words), spec, stdin, more=more, force=force)


def _resumed(context: click.Context, path: Path, command: list[str], options: Options) -> Folder:
    """An experiment to go on with, with more rounds or time where these are given. Throws ReapError."""
    folder = reopened(str(context.info_name), path, command, _written(context) - _MORE)
    if options.runs is not None or options.budget is not None:
        try:
            folder.extend(options.runs, options.budget)
        except ReapError:
            folder.close()
            raise
    return folder


def _require_fitting(
    options: Options, heaps: Heaps | None, against: Sequence[Variant], *, scanned: bool
) -> None:
    """Throws ReapError for options that do not go together."""
    if against and (heaps or options.allocators):
        raise ReapError(
            f"--{'scan' if scanned else 'against'} compares commands, not allocators or heaps",
            "leave --allocators, --levels and --naive out",
            ExitCode.USAGE,
        )
    if heaps and options.objective != "time":
        raise ReapError(
            "--for does not go with --levels and --naive: they are about time", "leave it out", ExitCode.USAGE
        )
    if heaps and options.witness:
        raise ReapError(
            "--witness does not go with --levels and --naive",
            "leave it out; --litter caches=counters counts instructions there",
            ExitCode.USAGE,
        )


def refuse_levels(folder: Folder) -> None:
    """Throws ReapError for an experiment that only `reap compare` goes on with."""
    if folder.spec.fragment is not None:
        raise ReapError(
            f"{folder.path} is an experiment on fragmented heaps",
            f"go on with: reap compare --resume {folder.path}",
            ExitCode.USAGE,
        )


def exit_code(comparison: Comparison) -> int:
    """The program's own status, or 1 if an allocator changed what it does."""
    return ExitCode.FAILED if comparing.differs(comparison) else comparison.exit_code


def choose(text: str | None, *, alone: bool = False, linked: str = "") -> tuple[list[Allocator], str]:
    """The allocators asked for; without `text` the usual ones, and a line about those that are not here.

    The usual ones are without another build of the one that is `linked` into the program: what that gains is
    its version's or its options' doing. Where none of them is here Reap's own stands in. Throws ReapError
    where there is none but the C library's, unless that may stand `alone`.
    """
    if text is not None:
        return catalog.parse(text), ""
    found = [catalog.look(name) for name in USUAL if name != linked]
    here = [each for each in found if isinstance(each, Allocator)]
    missing = [each for each in found if not isinstance(each, Allocator)]
    if len(here) == 1 and not alone and isinstance(own := catalog.look(LAST_RESORT), Allocator):
        here.append(own)
    if len(here) == 1 and not alone:
        raise ReapError(
            "no allocator but the C library's is installed, so there is nothing to compare",
            catalog.install_command(missing),
        )
    if not missing:
        return here, ""
    names = ", ".join(each.name for each in missing)
    return here, f"not installed: {names} ({catalog.install_command(missing)})"


def _pairing(options: Options) -> Asked:
    """Runs whose memory over time is compared are made one after another unless the user says otherwise.

    An allocator that returns memory after some seconds counts those in which a program waits for its core.
    """
    over_time = options.objective in ("settled", "mean")
    return "sequential" if over_time and options.pairing == "auto" else options.pairing


def _base_alone(name: str) -> tuple[list[Allocator], str]:
    """The allocator that all commands run under."""
    return ([] if name == DEFAULT else catalog.parse(name)), ""


def _written(context: click.Context) -> set[str]:
    """Options of the experiment that were written on the command line."""
    names = [
        *(field.name for field in fields(Options)),
        "against",
        "scan",
        *servers.NAMES,
        *level_options.NAMES,
        "output",
    ]
    return written(context, names)
