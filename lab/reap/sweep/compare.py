"""`reap compare`, whose rounds may run elsewhere: then it is a sweep of one program."""

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from reap.base.errors import ExitCode, ReapError
from reap.compare import command as here
from reap.sweep import places
from reap.sweep.places import Places

_TAKEN = {
    "allocators", "baseline", "command", "force", "html_file", "json_file", "levels", "output", "runs",
    "timeout", "warmup", "worth",
}  # fmt: skip
"""What a comparison elsewhere takes; all else is of one machine."""


def _compare(**given: Any) -> int:  # noqa: ANN401 - click's; that command says their types
    where = Places.taken(given)
    if where.on:
        return _elsewhere(where, given)
    assert here.compare.callback is not None  # noqa: S101 - a mistake of ours
    return int(here.compare.callback(**given))


def _command() -> click.Command:
    """Command `reap compare`, with the option of `places` before its last, the command that is measured."""
    made = copy.copy(here.compare)
    holder = click.command()(places.option(lambda: None))
    made.params = [*here.compare.params[:-1], *holder.params, here.compare.params[-1]]
    made.callback = _compare
    made.help = (here.compare.help or "").replace("\n\nExits with", f"\n\n{_HELP}\n\nExits with", 1)
    return made


_HELP = """\
With --on the rounds run on other machines, or on several cores of this one (see `reap sweep`): CMD and the
files that it names below the current folder are copied there, and the results are those of a sweep of one
program."""

compare = _command()


def _elsewhere(where: Places, given: dict[str, Any]) -> int:
    """Throws ReapError for what only one machine can do."""
    from reap.commandline import reporting
    from reap.launch.litter import level
    from reap.sweep import plan, steps
    from reap.sweep.records import Plan, Program

    _require_fitting()
    command = list(given["command"])
    if not command:
        raise ReapError("there is no command to compare", "put it after --", ExitCode.USAGE)
    folder = Path.cwd()
    words, files = staged(command, folder)
    allocators = _allocators(given["allocators"], given["baseline"], folder)
    libraries = [each.partition("=")[2] for each in allocators]
    levels = [each.strip() for each in given["levels"].split(",")] if given["levels"] else []
    if levels:
        level.parse(given["levels"])
    asked = Plan(
        programs=[Program(command=words, files=files)],
        allocators=allocators,
        levels=levels,
        warm_ups=given["warmup"],
        timeout=given["timeout"],
        worth=100 * given["worth"],
        **({"rounds": given["runs"]} if given["runs"] else {}),
    )
    copied = [*files, *(each for each in libraries if each and not each.startswith("/"))]
    if copied:
        click.echo(f"copied to the workers: {', '.join(copied)}", err=True)
    outputs = {name: given[name] for name in ("output", "json_file", "html_file", "force")}
    return steps.begin(
        steps.Asked(places=where, **outputs), plan.sweep(asked, folder), reporting.name_of(command)
    )


def staged(command: Sequence[str], folder: Path) -> tuple[list[str], list[str]]:
    """The command as workers run it in their copy of the folder, and the files in there that it names."""
    words, files = [], []
    for number, word in enumerate(command):
        name = _inside(word, folder) if number or "/" in word else ""
        if name:
            files.append(name)
            word = name if number else f"./{name}"  # noqa: PLW2901 - what it is there
        words.append(word)
    return words, list(dict.fromkeys(files))


def _inside(word: str, folder: Path) -> str:
    """The path of a file below the folder, relative to that; empty for every other word."""
    path = Path(os.path.normpath(folder / word))
    return str(path.relative_to(folder)) if path.is_relative_to(folder) and path.is_file() else ""


def _allocators(written: str | None, baseline: str, folder: Path) -> list[str]:
    """The words of a plan: the baseline first, a file below the folder relative to it. Throws ReapError."""
    from reap.allocators import catalog
    from reap.compare.experiments import choose
    from reap.experiment.specify import baseline_first

    chosen, missing = choose(written)
    if missing:
        click.echo(missing, err=True)
    found = []
    for each in baseline_first(chosen, baseline, alone=False):
        name, given, path = catalog.word(each).partition("=")
        found.append(f"{name}={_inside(path, folder) or path}" if given else name)
    return found


def _require_fitting() -> None:
    """Throws ReapError for an option, or an input, that a comparison on other machines cannot have."""
    from reap.commandline.experiments import written
    from reap.commandline.stdin import spooled

    context = click.get_current_context()
    others = {each.name or "" for each in compare.params} - _TAKEN - set(Places().__dict__)
    if stray := sorted(written(context, others)):
        raise ReapError(
            f"{' and '.join(stray)} cannot be used with --on",
            "leave --on out, or measure it on each machine",
            ExitCode.USAGE,
        )
    chunks = spooled()
    if chunks is not None and any(chunks):
        raise ReapError(
            "standard input is not copied to other machines",
            "have CMD read a file: reap compare ... -- sh -c 'CMD < input' input",
            ExitCode.USAGE,
        )
