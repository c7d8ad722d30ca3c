"""`reap compare` whose rounds are a sweep: the programs of a plan, or one program on other machines."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline.written import written
from reap.sweep import export, folder, plan, steps
from reap.sweep.places import Places
from reap.sweep.records import Plan, Program

_OUTPUTS = {"exports", "force", "html_file", "json_file", "on", "output", "plan_file", "resume"}
"""Options of any sweep."""
_OF_ONE = {"allocators", "baseline", "command", "levels", "runs", "timeout", "warmup", "worth"}
"""Parameters of a sweep of one program, which a plan has for several; all others are of one machine."""


def without_defaults(context: click.Context, given: dict[str, Any]) -> dict[str, Any]:
    """The options, without those of reap.toml that go with no command, and with no folder."""
    if not given["command"] and not given["resume"]:
        return given
    others = tuple(each for each in given["exports"] if each.suffix not in export.FORMATS)
    meant: dict[str, Any] = {"plan_file": None, "exports": others}
    if given["resume"]:
        meant["output"] = None
    return {**given, **{name: value for name, value in meant.items() if not written(context, [name])}}


def is_asked(given: dict[str, Any]) -> bool:
    """Whether the options are those of a sweep, or go on with one."""
    resumed: Path | None = given["resume"]
    return bool(given["plan_file"] or given["on"] or (resumed and folder.is_one(resumed)))


def compare(context: click.Context, given: dict[str, Any]) -> int:
    """Runs the sweep that the options name, or what is left of it, and answers from it. Throws ReapError."""
    where = Places.taken(given)
    outputs = {name: given[name] for name in ("output", "json_file", "html_file", "exports", "force")}
    asked = steps.Asked(places=where, **outputs)
    file, resumed, command = given["plan_file"], given["resume"], list(given["command"])
    if file is None and resumed is None:
        return _one(context, asked, given)
    _require_fitting(context, _OUTPUTS | {"command"}, "--resume of a sweep" if resumed else "--plan")
    if command or (file and resumed):
        raise ReapError(
            f"{resumed or file} names the programs" if command else "--resume goes on with its own plan",
            "leave the command out" if command else "leave out --plan",
            ExitCode.USAGE,
        )
    if resumed is not None:
        return steps.resume(asked, resumed)
    return steps.begin(asked, lambda: plan.sweep(plan.read(file), file.absolute().parent), file.stem)


def _one(context: click.Context, asked: steps.Asked, given: dict[str, Any]) -> int:
    """Runs a sweep of one program. Throws ReapError for what only one machine can do."""
    from reap.commandline import reporting
    from reap.launch.litter import level

    _require_fitting(context, _OUTPUTS | _OF_ONE, "--on")
    _require_no_input()
    command = list(given["command"])
    if not command:
        raise ReapError("there is no command to compare", "put it after --", ExitCode.USAGE)
    here = Path.cwd()
    words, files = staged(command, here)
    allocators = _allocators(given["allocators"], given["baseline"], here)
    libraries = [each.partition("=")[2] for each in allocators]
    levels = [each.strip() for each in given["levels"].split(",")] if given["levels"] else []
    if levels:
        level.parse(given["levels"])
    made = Plan(
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
    return steps.begin(asked, lambda: plan.sweep(made, here), reporting.name_of(command))


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


def _allocators(written: str | None, baseline: str, here: Path) -> list[str]:
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
        found.append(f"{name}={_inside(path, here) or path}" if given else name)
    return found


def _require_fitting(context: click.Context, fitting: set[str], by: str) -> None:
    """Throws ReapError for an option that such a sweep cannot have."""
    others = {each.name or "" for each in context.command.params} - fitting
    if stray := sorted(written(context, others)):
        raise ReapError(
            f"{' and '.join(stray)} cannot be used with {by}",
            "leave --on out, or measure it on each machine" if by == "--on" else "leave it out",
            ExitCode.USAGE,
        )


def _require_no_input() -> None:
    """Throws ReapError where standard input has something for the program."""
    from reap.commandline.stdin import spooled

    chunks = spooled()
    if chunks is not None and any(chunks):
        raise ReapError(
            "standard input is not copied to other machines",
            "have CMD read a file: reap compare ... -- sh -c 'CMD < input' input",
            ExitCode.USAGE,
        )
