"""Reports of commands: files that may be written, and lines on them and on the end of a program."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.files import STANDARD_OUTPUT, refuse_link
from reap.base.records import Record
from reap.base.text import command_line, file_name, plain_json, printable, signal_name
from reap.commandline.stdin import with_input
from reap.launch import wrappers
from reap.launch.records import Launch, Outcome

if TYPE_CHECKING:
    from rich.console import Console


def refuse_existing(*paths: Path | None, force: bool, made: Path | None = None) -> None:
    """Throws ReapError for a file that could not be written: before the measuring, not after it.

    `made` is the folder that the verb makes meanwhile. `-` is standard output, for one of them.
    """
    if paths.count(STANDARD_OUTPUT) > 1:
        raise ReapError("standard output takes one result", "name a file for the others", ExitCode.USAGE)
    if twice := next((path for path in paths if path is not None and paths.count(path) > 1), None):
        raise ReapError(f"{twice} is named for two results", "name another file for one", ExitCode.USAGE)
    for path in paths:
        if path is None or path == STANDARD_OUTPUT:
            continue
        refuse_link(path)
        if not force and os.path.lexists(path):
            raise ReapError(f"{path} exists already", "give another name, or --force", ExitCode.INTERNAL)
        if made is not None and path.absolute().parent == made.absolute():
            continue
        if not os.path.isdir(path.parent):  # noqa: PTH112 - Path's throws where it may not look
            raise ReapError(
                f"{path} could not be written: the folder {path.parent} does not exist",
                "Make the folder first, or name another file.",
            )
        # A file is replaced, and not written over; a device or a pipe is written to.
        into = path if os.path.exists(path) and not os.path.isfile(path) else path.parent  # noqa: PTH110, PTH113
        if not os.access(into, os.W_OK):
            raise ReapError(
                f"{path} could not be written: {into} is not writable",
                "Name a file in another folder.",
            )


def require_file(path: Path | None) -> None:
    """Throws ReapError for standard output, where what is written cannot be a stream."""
    if path == STANDARD_OUTPUT:
        raise ReapError("this cannot be written to standard output", "name a file", ExitCode.USAGE)


def console(*files: Path | None) -> "Console":
    """Console for an answer: standard output, or standard error where one of `files` takes that."""
    from rich.console import Console

    return Console(stderr=STANDARD_OUTPUT in files)


def say_files(*, json: Path | None, html: Path | None) -> None:
    """Names the files of a report."""
    if json is not None:
        say_written("the results", json)
    if html is not None:
        say_written("the report", html)


VERSIONS = {
    "allocators": 2,
    "doctor": 2,
    "drag": 1,
    "drag-sample": 1,
    "fleet": 1,
    "fragment": 1,
    "growth": 1,
    "rss": 1,
    "sweep": 1,
}
"""Of the schemas of what is no report. Raised when a field changes its meaning or goes."""


def write_plain(
    path: Path, schema: str, fields: Mapping[str, object] | Record, *, force: bool, version: int | None = None
) -> None:
    """Writes what a command found as JSON, behind the head that all have, and names the file.

    `version` is that of the schema if it is not among VERSIONS. Throws ReapError.
    """
    import msgspec

    from reap.answer.files import head_of
    from reap.base import redact
    from reap.base.files import write_safely

    head = msgspec.structs.asdict(head_of(schema, VERSIONS[schema] if version is None else version))
    own = msgspec.structs.asdict(fields) if isinstance(fields, Record) else fields
    data = plain_json(msgspec.json.encode(redact.shared({**head, **own})))
    write_safely(path, msgspec.json.format(data, indent=1) + b"\n", force=force)
    say_written("the results", path)


def say_end(name: str, outcome: Outcome, timeout: float | None) -> int:
    """One line where the program did not come to its own end; what to exit with. `timeout` in seconds."""
    name = printable(name)
    if outcome.timed_out:
        click.echo(f"reap: {name} was ended after {timeout or 0:g} s", err=True)
        return ExitCode.TIMED_OUT
    if outcome.signal:
        click.echo(f"reap: {name} was ended by {signal_name(outcome.signal)}", err=True)
    return outcome.status


def say_hang(launch: Launch, preload: str) -> None:
    """Runs a program again without a preload under which it did not end in time; says so if it ends then.

    The program's output is discarded. Does nothing where its standard input cannot be read again.
    """
    from reap.launch import hung

    alone = hung.repeatable(launch)
    if alone is None:
        return
    click.echo("reap: one run without the recorder shows whether that is why", err=True)
    if found := hung.culprits(hung.bare(alone), {preload: alone}):
        click.echo(f"reap: {printable(launch.argv[0])} {hung.hangs(launch, found)}; {hung.INSTEAD}", err=True)


def say_written(what: str, path: Path) -> None:
    """One line that names a file."""
    if path != STANDARD_OUTPUT:
        click.echo(f"{what}: {printable(str(path))}", err=True)


def say_next(command: list[str]) -> None:
    """The exact next command, ready to be pasted."""
    say_command("next", command)


def say_command(what: str, command: list[str]) -> None:
    """A command, ready to be pasted, after what it is for."""
    program = command[command.index("--") + 1 :] if "--" in command else []
    click.echo(f"{what}: {with_input(command_line(command), program)}", err=True)


def name_of(command: list[str]) -> str:
    """A short name for a command, good for a file."""
    return file_name(wrappers.name(command).lstrip(".-")) or "program"
