"""Other commands to compare a program with: `--against`, `--against-env`, `--against-dir`."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline import words
from reap.commandline.sections import section
from reap.experiment.spec import Variant
from reap.launch import program as programs

DEFAULT = "default"
"""The variant that the program itself is."""
NAMES = ("against", "against_env", "against_dir")

HEADING = "Commands to compare it with, in place of allocators"

_LONGEST_NAME = 24
"""Characters of words that stand for a command in a table."""

_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def options(verb: _Verb) -> _Verb:
    """Gives a verb these options; it hands them to `asked`."""
    return section(
        HEADING,
        click.option(
            "--against",
            multiple=True,
            metavar="CMD2",
            help="Compare CMD with another command; repeatable.",
        ),
        click.option(
            "--against-env",
            multiple=True,
            metavar="K=V",
            help="Variable for the other command; without --against, CMD with it. Repeatable.",
        ),
        click.option(
            "--against-dir",
            metavar="DIR",
            help="Folder that the other command runs in; without --against, CMD in that folder.",
        ),
    )(verb)


def asked(given: dict[str, Any], command: Sequence[str]) -> list[Variant]:
    """Takes these options out of `given`: the other commands, each with its name. Throws ReapError."""
    others, variables, folder = (given.pop(name) for name in NAMES)
    if not others and not variables and not folder:
        return []
    if len(others) > 1 and (variables or folder):
        raise ReapError(
            "--against-env and --against-dir are for one other command",
            "give one --against, or put the variables into the commands: --against 'env K=V CMD2'",
            ExitCode.USAGE,
        )
    if not command:
        raise ReapError("there is no command to compare with", "put it after --", ExitCode.USAGE)
    if folder and not Path(folder).is_dir():
        raise ReapError(f"--against-dir {folder} is not a folder", "name one that exists", ExitCode.USAGE)
    environment = dict(words.variable("--against-env", word, "MALLOC_ARENA_MAX=1") for word in variables)
    commands = [_split(other) for other in others] or [list(command)]
    taken = [Path(command[0]).name, given["baseline"], DEFAULT]
    named = _names(taken, list(command), commands, [*variables, *([folder] if folder else [])])
    directory = str(Path(folder).absolute()) if folder else ""
    return [
        Variant(
            name=name,
            program=programs.resolve(each, directory=directory or str(Path.cwd())),
            environment=environment,
            directory=directory,
        )
        for name, each in zip(named, commands, strict=True)
    ]


def _split(text: str) -> list[str]:
    found = words.split("--against", text)
    if not found:
        raise ReapError("--against names no command", "--against './server-new --selftest'", ExitCode.USAGE)
    return found


def _names(
    taken: list[str], command: list[str], others: Iterable[list[str]], how: Sequence[str]
) -> list[str]:
    """A name for each command that nothing else has.

    That of its file, with its variables and folder; of the same file the words that CMD does not have,
    where these are short; else with a number behind it.
    """
    names: list[str] = []
    for other in others:
        base = name = Path(other[0]).name + (f" ({', '.join(how)})" if how else "")
        if base == Path(command[0]).name and (differing := _differing(command, other)):
            base = name = differing
        number = 2
        while name in [*taken, *names]:
            name, number = f"{base} {number}", number + 1
        names.append(name)
    return names


def _differing(command: list[str], other: list[str]) -> str:
    """The words of another command that the program's does not have; empty where they are no short name."""
    name = " ".join(word for word in other[1:] if word not in command)
    if len(name) > _LONGEST_NAME or not name.isprintable():
        return ""
    return name if any(letter.isalpha() for letter in name) else f"{Path(other[0]).name} {name}".strip()
