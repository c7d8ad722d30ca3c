"""Repeated runs: their options, their folder and their progress."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.files import unused
from reap.commandline import outputs, reporting
from reap.commandline.progress import Bar
from reap.commandline.sections import section
from reap.commandline.size import SECONDS
from reap.experiment.folder import Folder
from reap.experiment.runner import Listener

RUNS = "Runs"
"""Heading of options for repeated runs."""

_FOLDER = click.Path(path_type=Path, file_okay=False)
_Verb = TypeVar("_Verb", bound=Callable[..., Any])


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


def running(verb: _Verb) -> _Verb:
    """Gives a verb the options for repeated runs, and its command."""
    return decorated_by(
        verb,
        section(
            RUNS,
            click.option(
                "--timeout",
                type=SECONDS,
                help="Time limit in seconds for one run; with --server for its start and for each load.",
            ),
            click.option(
                "--prepare",
                default="",
                metavar="CMD",
                help="Shell command before each run, not measured; {arm} is the name of the run.",
            ),
            click.option(
                "--cleanup",
                default="",
                metavar="CMD",
                help="Shell command after each run, not measured; {arm} is the name of the run.",
            ),
            click.option(
                "-o",
                "--output",
                type=_FOLDER,
                help="Folder for the runs (default: a new reap-runs/NAME-TIME).",
            ),
            click.option(
                "--resume",
                type=_FOLDER,
                help="Resume the experiment in this folder; CMD may be omitted.",
            ),
            outputs.force,
        ),
        click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD..."),
        click.pass_context,
    )


def decorated_by(verb: _Verb, *decorators: Callable[[Any], Any]) -> _Verb:
    """The verb with these decorators, the first outermost."""
    decorated: Any = verb
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return cast("_Verb", decorated)


def new_folder(command: list[str]) -> Path:
    """Folder of an experiment for which none was named."""
    return unused(reporting.name_of(command))


def reopened(verb: str, path: Path, command: list[str], given: set[str]) -> Folder:
    """A resumed experiment keeps its options: options that would change it are refused, not ignored."""
    if given:
        raise ReapError(
            f"--resume goes on with the experiment as it began; it takes no {', '.join(sorted(given))}",
            f"reap {verb} --resume {path}",
            ExitCode.USAGE,
        )
    folder = Folder.resume(path)
    program = folder.spec.program.command
    own = {"tune", "rss"}
    if verb != folder.spec.verb and {verb, folder.spec.verb} & own:
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
