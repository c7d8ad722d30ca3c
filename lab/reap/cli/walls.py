"""What `reap wall` puts together: its folder, the measuring, its files."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from reap.allocators import catalog
from reap.cli import reporting
from reap.cli.stdin import spooled
from reap.errors import ExitCode, ReapError
from reap.experiment import wall as experiment
from reap.experiment.wall import Measured
from reap.files import write_safely
from reap.launch import program as programs
from reap.launch.records import Launch

FACTS, STACKS, FLAMES = "wall.json", "stacks.folded", "flames.svg"
_INPUT = "stdin"


@contextlib.contextmanager
def folder(output: Path | None, command: tuple[str, ...], pid: int | None, *, force: bool) -> Iterator[Path]:
    """A new folder for what is seen, private to the user. Throws ReapError."""
    if bool(command) == (pid is not None):
        raise ReapError("name a command after --, or a process by --pid", "reap wall -- CMD", ExitCode.USAGE)
    name = reporting.name_of(list(command)) if command else str(pid)
    path = output or Path(f"reap-wall-{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    try:
        path.mkdir(mode=0o700, exist_ok=force)
    except FileExistsError as error:
        raise ReapError(f"{path} exists already", "give another name with -o, or --force") from error
    except OSError as error:
        raise ReapError(f"{path} cannot be made: {error.strerror}", "name another folder with -o") from error
    if force:
        for file in path.glob("*.reap"):
            file.unlink()
    try:
        yield path
    except ReapError:
        with contextlib.suppress(OSError):
            path.rmdir()  # if nothing was measured
        raise


def measured(
    command: tuple[str, ...],
    pid: int | None,
    seconds: float,
    allocator: str | None,
    timeout: float | None,
    path: Path,
) -> Measured:
    """Measures what the command line names. Throws ReapError."""
    if pid is not None:
        return experiment.watch_running(pid, seconds, path, _say)
    chosen = catalog.parse(allocator) if allocator else []
    if len(chosen) > 1:
        raise ReapError("only one allocator can be watched at a time", "name one", ExitCode.USAGE)
    found = programs.resolve(list(command))
    if chosen:
        programs.require_preloadable(found)
    stdin = spooled()
    if stdin is not None:
        write_safely(path / _INPUT, b"".join(stdin), force=True)
    launch = Launch(
        argv=found.command,
        program=found.path,
        allocator=chosen[0].library if chosen else "",
        stdin=str(path / _INPUT) if stdin is not None else "",
        timeout=timeout,
    )
    return experiment.measure(launch, found, path, _say)


def write(path: Path, seen: Measured, json_file: Path | None, *, force: bool) -> None:
    """Writes the facts and the stacks. Throws ReapError."""
    facts = msgspec.json.format(msgspec.json.encode(seen.wall), indent=1) + b"\n"
    write_safely(path / FACTS, facts, force=True)
    write_safely(path / STACKS, "".join(f"{line}\n" for line in seen.stacks).encode(), force=True)
    if json_file is not None:
        write_safely(json_file, facts, force=force)


def say(path: Path, seen: Measured, json_file: Path | None, command: tuple[str, ...]) -> None:
    """Names what was written, and the next command."""
    reporting.say_written("the facts", path / FACTS)
    reporting.say_written("stacks, for any flame graph", path / STACKS)
    if json_file is not None:
        reporting.say_written("the results", json_file)
    if command:
        reporting.say_next(["reap", "compare", "--", *command])
    elif seen.wall.command:
        reporting.say_next(["reap", "wall", "--", *seen.wall.command])


def _say(text: str) -> None:
    click.echo(text, err=True)
