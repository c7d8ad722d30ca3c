"""An experiment on a command line's program: what `reap compare` and `reap run` share."""

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.analysis.size_profile import encode
from reap.cli import groups, heaps, reporting
from reap.cli.progress import Bar
from reap.cli.stdin import spooled
from reap.errors import ExitCode, ReapError
from reap.experiment import compare as comparing
from reap.experiment.folder import Folder
from reap.experiment.fragment import load_profile
from reap.experiment.matrix import PROFILE
from reap.experiment.records import Comparison
from reap.experiment.runner import Listener
from reap.experiment.spec import specify
from reap.launch import program as programs

USUAL = ("glibc", "jemalloc", "mimalloc", "tcmalloc")
"""What is compared when no one says otherwise, as far as it is installed."""

LAST_RESORT = "reap"
"""What glibc is compared with where none of the others is installed: it comes with Reap."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options that say what the experiment is; a resumed one takes none of them."""

    allocators: str | None
    baseline: str
    runs: int | None
    budget: float | None
    timeout: float | None
    prepare: str
    cleanup: str
    requests: bool


class Terminal(Listener):
    """Shows how an experiment goes on standard error."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._bar.say(text)

    def progress(self, done: int, total: int, label: str) -> None:
        """The bar."""
        self._bar.update(done, total, label)


_FOLDER = click.Path(path_type=Path, file_okay=False)
_SECONDS = click.FloatRange(min=0, min_open=True)
_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def options(verb: _Verb) -> _Verb:
    """Gives a verb the options of an experiment, and its command; the verb hands them to `opened`."""
    return _decorated(
        running(verb),
        groups.names("-a", "--allocators", help="Names or NAME=/path/lib.so"),
        click.option(
            "--baseline", default="glibc", show_default=True, help="What the others are compared with."
        ),
        click.option(
            "-n",
            "--runs",
            type=click.IntRange(min=2),
            help="Rounds; the usual is 5 to 30 in about a minute.",
        ),
        click.option("--budget", type=_SECONDS, help="Seconds for all runs together."),
        click.option(
            "--requests",
            is_flag=True,
            help="Ask for the times of its marked requests; they are compared whenever it marks any.",
        ),
    )


def running(verb: _Verb) -> _Verb:
    """Gives a verb the options of whatever is run again and again, and its command."""
    return _decorated(
        verb,
        click.option("--timeout", type=_SECONDS, help="Seconds for one run."),
        click.option(
            "--prepare", default="", metavar="CMD", help="Shell command before each run, not measured."
        ),
        click.option(
            "--cleanup", default="", metavar="CMD", help="Shell command after each run, not measured."
        ),
        click.option(
            "-o",
            "--output",
            type=_FOLDER,
            help="Folder for the runs (a new reap-NAME-TIME here if not given).",
        ),
        click.option(
            "--resume",
            type=_FOLDER,
            help="Go on with what was begun in this folder; CMD may be left out.",
        ),
        click.option("-f", "--force", is_flag=True, help="Replace what exists."),
        click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD..."),
        click.pass_context,
    )


def _decorated(verb: _Verb, *decorators: Callable[[Any], Any]) -> _Verb:
    decorated: Any = verb
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return cast("_Verb", decorated)


def opened(
    context: click.Context,
    command: tuple[str, ...],
    output: Path | None,
    resume: Path | None,
    *,
    force: bool,
    asked: heaps.Heaps | None = None,
    **given: Any,  # noqa: ANN401 - click's; Options says their types
) -> Folder:
    """The experiment that a verb's options name: a new one, or one to go on with. Throws ReapError.

    With `asked` a new one is on fragmented heaps.
    """
    if resume:
        return reopened(str(context.info_name), resume, list(command), _written(context))
    return _create(list(command), output, Options(**given), asked, force=force)


def refuse_matrix(folder: Folder) -> None:
    """Throws ReapError for an experiment that only `reap compare` goes on with."""
    if folder.spec.matrix is not None:
        raise ReapError(
            f"{folder.path} is an experiment on fragmented heaps",
            f"go on with: reap compare --resume {folder.path}",
            ExitCode.USAGE,
        )


def exit_code(comparison: Comparison) -> int:
    """The program's own status, or 1 if an allocator changed what it does."""
    return ExitCode.FAILED if comparing.differs(comparison) else comparison.exit_code


def choose(text: str | None, *, alone: bool = False) -> tuple[list[Allocator], str]:
    """The allocators asked for; without `text` the usual ones, and a line about those that are not here.

    Where none of them is here Reap's own stands in. Throws ReapError where there is none but the C library's,
    unless that may stand `alone`.
    """
    if text is not None:
        return catalog.parse(text), ""
    found = [catalog.look(name) for name in USUAL]
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


def _create(
    command: list[str], output: Path | None, options: Options, asked: heaps.Heaps | None, *, force: bool
) -> Folder:
    allocators, missing = choose(options.allocators, alone=asked is not None)
    fragmented = heaps.meant(asked) if asked else None
    profile = load_profile(asked.profile, cut_off=asked.cut_off) if asked and asked.profile else None
    stdin = spooled()
    spec = specify(
        command,
        allocators,
        fragmented=fragmented,
        baseline=options.baseline,
        runs=options.runs or 0,
        budget=options.budget,
        prepare=options.prepare,
        cleanup=options.cleanup,
        timeout=options.timeout,
        stdin=stdin is not None,
        requests=options.requests,
    )
    if asked is not None and asked.levels and spec.matrix is not None:
        for variant in spec.matrix.variants:
            programs.require_litterable(variant.program)
    path = output or new_folder(command)
    if missing:
        click.echo(missing, err=True)
    more = {PROFILE: encode(profile)} if profile is not None else {}
    return Folder.create(path, spec, stdin, more=more, force=force)


def new_folder(command: list[str]) -> Path:
    """Where an experiment is kept for which no folder was named."""
    return Path(f"reap-{reporting.name_of(command)}-{datetime.now(UTC):%Y%m%d-%H%M%S}")


def reopened(verb: str, path: Path, command: list[str], given: set[str]) -> Folder:
    """A resumed experiment is what it was: options that would change it are refused, not passed over."""
    if given:
        raise ReapError(
            f"--resume goes on with the experiment as it began; it takes no {', '.join(sorted(given))}",
            f"reap {verb} --resume {path}",
            ExitCode.USAGE,
        )
    folder = Folder.resume(path)
    program = folder.spec.program.command
    if (verb == "tune") != (folder.spec.verb == "tune"):
        folder.close()
        raise ReapError(
            f"{path} is no experiment of `reap {verb}`",
            f"go on with: {folder.resume_command}",
            ExitCode.USAGE,
        )
    if command and (command != program or str(Path.cwd()) != folder.spec.directory):
        folder.close()
        where = folder.spec.directory
        raise ReapError(
            f"{path} is an experiment with another command: {shlex.join(program)} in {where}",
            f"leave the command out: reap {verb} --resume {path}",
            ExitCode.USAGE,
        )
    return folder


def written(context: click.Context, names: Iterable[str]) -> set[str]:
    """Options of these parameters that were written on the command line."""
    source = click.core.ParameterSource.COMMANDLINE
    return {
        max(each.opts, key=len)
        for each in context.command.params
        if each.name in names and context.get_parameter_source(each.name) is source
    }


def _written(context: click.Context) -> set[str]:
    """Options of the experiment that were written on the command line."""
    names = [field.name for field in fields(Options)] + ["output"]
    return written(context, names).union(heaps.written(context))
