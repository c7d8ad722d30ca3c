"""Other commands to compare a program with: `--against '[-C DIR] [K=V...] [CMD2]'`, as env(1) takes them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline import words
from reap.commandline.sections import section
from reap.experiment.spec import Variant
from reap.launch import program as programs
from reap.launch import wrappers

DEFAULT = "default"
"""The variant that the program itself is."""

HEADING = "Commands to compare it with, in place of allocators"

_LONGEST_NAME = 24
"""Characters of words that stand for a command in a table."""
_FOLDER = "-C"
_EXAMPLE = "--against './server-new --selftest', --against MALLOC_ARENA_MAX=1, or --against '-C ../before'"


@dataclass(frozen=True, kw_only=True)
class _Other:
    """Another command, and how it is run."""

    command: list[str]
    environment: dict[str, str]
    directory: str
    """As it was written; empty: here."""


option = section(
    HEADING,
    click.option(
        "--against",
        multiple=True,
        metavar="[-C DIR] [K=V...] [CMD2]",
        help="Compare CMD with another command, in folder DIR, with these variables; without CMD2 with CMD "
        "itself there. Repeatable.",
    ),
)
"""Gives a verb the option; it hands it to `asked`."""


def asked(given: dict[str, Any], command: Sequence[str]) -> list[Variant]:
    """Takes the option out of `given`: the other commands, each with its name. Throws ReapError."""
    texts = given.pop("against")
    if not texts:
        return []
    if not command:
        raise ReapError("there is no command to compare with", "put it after --", ExitCode.USAGE)
    others = [_other(text, command) for text in texts]
    taken = [wrappers.name(command), given["baseline"], DEFAULT]
    return [
        Variant(
            name=name,
            program=programs.resolve(each.command, directory=str(Path(each.directory).absolute())),
            environment=each.environment,
            directory=str(Path(each.directory).absolute()) if each.directory else "",
        )
        for name, each in zip(_names(taken, list(command), others), others, strict=True)
    ]


def _other(text: str, command: Sequence[str]) -> _Other:
    found = words.split("--against", text)
    if not found:
        raise ReapError("--against names no command", _EXAMPLE, ExitCode.USAGE)
    folder = ""
    if found[0] == _FOLDER:
        if len(found) == 1:
            raise ReapError("--against -C names no folder", _EXAMPLE, ExitCode.USAGE)
        folder, found = found[1], found[2:]
        if not Path(folder).is_dir():
            raise ReapError(f"--against: {folder} is not a folder", _EXAMPLE, ExitCode.USAGE)
    environment, other = words.assigned(found)
    return _Other(command=other or list(command), environment=environment, directory=folder)


def _names(taken: list[str], command: list[str], others: Iterable[_Other]) -> list[str]:
    """A name for each command that nothing else has.

    That of its file, with its variables and folder; of the same file the wrapper and words that CMD does not
    have, where these are short; else with a number behind it.
    """
    names: list[str] = []
    for other in others:
        how = [*(f"{name}={value}" for name, value in other.environment.items()), other.directory]
        around = ", ".join(each for each in how if each)
        base = name = wrappers.name(other.command) + (f" ({around})" if around else "")
        if base == wrappers.name(command) and (differing := _differing(command, other.command)):
            base = name = differing
        number = 2
        while name in [*taken, *names]:
            name, number = f"{base} {number}", number + 1
        names.append(name)
    return names


def _differing(command: list[str], other: list[str]) -> str:
    """The wrapper and words that only another command has; empty where they are no short name."""
    name = " ".join(word for word in other[1:] if word not in command)
    wrapper = ""
    if other[0] not in command and wrappers.inner(other) != other:
        wrapper = Path(other[0]).name
        name = f"{wrapper} {name}".strip()
    if len(name) > _LONGEST_NAME or not name.isprintable():
        return wrapper
    return name if any(letter.isalpha() for letter in name) else f"{wrappers.name(other)} {name}".strip()
