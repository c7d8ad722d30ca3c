"""`reap compare`: allocators compared on one program."""

import shlex
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.cli import reporting
from reap.cli.progress import Bar
from reap.cli.stdin import spooled
from reap.errors import ExitCode, ReapError
from reap.experiment import compare as comparing
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison
from reap.experiment.runner import Listener
from reap.experiment.spec import specify
from reap.report.records import Answer

USUAL = ("glibc", "jemalloc", "mimalloc", "tcmalloc")
"""What is compared when no one says otherwise, as far as it is installed."""


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


_PATH = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_SECONDS = click.FloatRange(min=0, min_open=True)


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("-a", "--allocators", help="Names or NAME=/path/lib.so, separated by commas.")
@click.option("--baseline", default="glibc", show_default=True, help="What the others are compared with.")
@click.option(
    "-n", "--runs", type=click.IntRange(min=2), help="Rounds; the usual is 5 to 30 in about a minute."
)
@click.option("--budget", type=_SECONDS, help="Seconds for all runs together.")
@click.option("--timeout", type=_SECONDS, help="Seconds for one run.")
@click.option("--prepare", default="", metavar="CMD", help="Shell command before each run, not measured.")
@click.option("--cleanup", default="", metavar="CMD", help="Shell command after each run, not measured.")
@click.option(
    "-o", "--output", type=_FOLDER, help="Folder for the runs (a new reap-NAME-TIME here if not given)."
)
@click.option("--resume", type=_FOLDER, help="Go on with the experiment in this folder; CMD may be left out.")
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON.")
@click.option("--html", "html_file", type=_PATH, help="Write a report as one HTML file.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
@click.pass_context
def compare(
    context: click.Context,
    /,
    command: tuple[str, ...],
    output: Path | None,
    resume: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
    **options: Any,  # noqa: ANN401 - click's; Options says their types
) -> int:
    r"""Compare allocators on a program.

    Runs CMD many times, under each allocator in turn, and prints CPU time, wall time, peak memory and page
    faults as ratios to the C library's malloc with 95 % intervals. Where an interval holds 1 it says `cannot
    tell`. CMD should do the same each time; use --prepare where it needs things set up. Standard input is
    read once and given to every run; output is discarded after it was compared.

    Exits with CMD's own status under the baseline, or 1 if an allocator changed its status or its output.

    \b
        reap compare --allocators glibc,jemalloc,mine=/path/libmine.so -- ./server --selftest
    """
    reporting.refuse_existing(json_file, html_file, force=force)
    if resume:
        folder = reopen("compare", resume, list(command), given(context))
    else:
        folder = create(list(command), output, Options(**options), force=force)
    with folder, Bar() as bar:
        comparison = comparing.compare(folder, Terminal(bar))
    return finish(comparison, folder.path, json_file, html_file, force=force)


def finish(
    comparison: Comparison, folder: Path, json_file: Path | None, html_file: Path | None, *, force: bool
) -> int:
    """Writes the files, prints the comparison, names the files, and returns the exit code."""
    from rich.console import Console

    from reap.report.terminal import render_comparison

    title = reporting.name_of(comparison.command)
    answer = Answer(title=title, command=comparison.command, comparison=comparison)
    reporting.write_files(reporting.report_of(answer), json=json_file, html=html_file, force=force)
    render_comparison(Console(), comparison)
    reporting.say_files(json=json_file, html=html_file)
    reporting.say_written("the runs", folder)
    reporting.say_next(["reap", "record", "-o", f"{title}.reap", "--", *comparison.command])
    return exit_code(comparison)


def exit_code(comparison: Comparison) -> int:
    """The program's own status, or 1 if an allocator changed what it does."""
    return ExitCode.FAILED if comparing.differs(comparison) else comparison.exit_code


def choose(text: str | None) -> tuple[list[Allocator], str]:
    """The allocators asked for; without `text` the usual ones, and a line about those that are not here."""
    if text is not None:
        return catalog.parse(text), ""
    found = [catalog.find(name) for name in USUAL]
    here = [each for each in found if isinstance(each, Allocator)]
    missing = [each for each in found if not isinstance(each, Allocator)]
    if len(here) == 1:
        raise ReapError(
            "no allocator but the C library's is installed, so there is nothing to compare",
            catalog.install_command(each.package for each in missing),
        )
    if not missing:
        return here, ""
    names = ", ".join(each.name for each in missing)
    return here, f"not installed: {names} ({catalog.install_command(each.package for each in missing)})"


def create(command: list[str], output: Path | None, options: Options, *, force: bool) -> Folder:
    """A new experiment on a command line's program. Throws ReapError."""
    allocators, missing = choose(options.allocators)
    stdin = spooled()
    spec = specify(
        command,
        allocators,
        baseline=options.baseline,
        runs=options.runs or 0,
        budget=options.budget,
        prepare=options.prepare,
        cleanup=options.cleanup,
        timeout=options.timeout,
        stdin=stdin is not None,
    )
    path = output or Path(f"reap-{reporting.name_of(command)}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    if missing:
        click.echo(missing, err=True)
    return Folder.create(path, spec, stdin, force=force)


def reopen(verb: str, path: Path, command: list[str], given: set[str]) -> Folder:
    """A resumed experiment is what it was: options that would change it are refused, not passed over."""
    if given:
        raise ReapError(
            f"--resume goes on with the experiment as it began; it takes no {', '.join(sorted(given))}",
            f"reap {verb} --resume {path}",
            ExitCode.USAGE,
        )
    folder = Folder.resume(path)
    program = folder.spec.program.command
    if command and (command != program or str(Path.cwd()) != folder.spec.directory):
        folder.close()
        where = folder.spec.directory
        raise ReapError(
            f"{path} is an experiment with another command: {shlex.join(program)} in {where}",
            f"leave the command out: reap {verb} --resume {path}",
            ExitCode.USAGE,
        )
    return folder


def given(context: click.Context) -> set[str]:
    """Options of the experiment that were written on the command line."""
    fixed = [field.name for field in fields(Options)] + ["output"]
    source = click.core.ParameterSource.COMMANDLINE
    return {f"--{name}" for name in fixed if context.get_parameter_source(name) is source}
