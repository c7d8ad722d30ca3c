"""`reap wall`: is a program at the allocator's wall? Its folder, the measuring, the remedies, its files."""

import contextlib
import shlex
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from reap.allocators import catalog
from reap.allocators.records import DEFAULT, Allocator
from reap.answer import files
from reap.answer.records import Answer, Report
from reap.base.errors import ExitCode, ReapError
from reap.base.files import STANDARD_OUTPUT, elsewhere, unused, write_safely
from reap.commandline import reporting, servers
from reap.commandline.experiments import Terminal
from reap.commandline.progress import Bar
from reap.commandline.redact import redacting
from reap.commandline.stdin import spooled, with_input
from reap.compare import terminal as compare_terminal
from reap.evidence import run as measuring
from reap.evidence import trial
from reap.evidence.judge import verdict as diagnosis
from reap.evidence.run import Measured
from reap.launch import program as programs
from reap.launch.records import Launch
from reap.server import words as server_words
from reap.server.records import Server
from reap.wall import terminal
from reap.wall.part import WallPart
from reap.wall.words import next_command

RESULTS, PAGE, STACKS, REMEDIES = "wall.json", "wall.html", "stacks.folded", "remedies"
_INPUT = "stdin"
_SECONDS = click.FloatRange(min=0, min_open=True)
_FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    command: tuple[str, ...]
    pid: int | None
    seconds: float
    allocator: str | None
    timeout: float | None
    budget: float
    calls: bool
    path: Path
    server: Server | None = None
    again: tuple[str, ...] = ()
    """What names the server for another command line."""


@click.command()
@click.option("--pid", type=click.IntRange(min=1), help="Watch this running process.")
@click.option(
    "--seconds", type=_SECONDS, default=10, show_default=True, help="With --pid or --server: how long."
)
@click.option("-a", "--allocator", help="Run CMD under this allocator: a name, or NAME=/path/lib.so.")
@click.option("--try/--no-try", "tries", default=True, help="Whether to try the remedies. [default: try]")
@click.option(
    "--budget",
    type=_SECONDS,
    default=60,
    show_default=True,
    help="Time limit for trying remedies, in seconds.",
)
@click.option("--calls", is_flag=True, help="Count system calls with strace where nothing else can.")
@click.option("--timeout", type=_SECONDS, help="Seconds until a run is stopped.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Output folder (default: a new reap-runs/wall-NAME-TIME).",
)
@click.option("--json", "json_file", type=_FILE, help="Write the results as JSON, too; - is standard output.")
@click.option("--html", "html_file", type=_FILE, help="Write the report to this file, too.")
@redacting
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@servers.options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
@click.pass_context
def wall(
    context: click.Context,
    /,
    command: tuple[str, ...],
    pid: int | None,
    seconds: float,
    allocator: str | None,
    tries: bool,
    budget: float,
    calls: bool,
    timeout: float | None,
    output: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
    **given: Any,  # noqa: ANN401 - click's; servers.asked takes it
) -> int:
    """Find out where a program's time goes, whether it is at the allocator's wall, and what helps.

    CMD runs twice, its output discarded: once with nothing loaded into it, sampled from outside, and once
    more to count its allocations. A program with a garbage collector runs a third time to measure that. Reap
    prints the verdict and tries the remedies in runs paired with the unchanged program. With --pid it watches
    a running process through the kernel only, and tries nothing; with --server that of a server that uses the
    most CPU time, while --load runs again and again.

    Exits with CMD's own status.

    \b
        reap wall -- perl script.pl
        reap wall --pid 1234 --seconds 30
    """  # noqa: D301 - click wants the character itself
    reporting.refuse_existing(json_file, html_file, force=force, made=output)
    console = reporting.console(json_file, html_file)
    given["command"] = command
    server = servers.asked(context, given)
    command = given["command"]
    again = server_words.options(server, command) if server is not None else []
    with folder(output, command, pid, again, force=force) as path:
        asked = Asked(
            command, pid, seconds, allocator, timeout, budget, calls, path, server=server, again=tuple(again)
        )
        seen = _measured(asked)
        part = _judged(asked, seen)
        _write(asked, part, json_file, force=force)
    _show(console, part)
    if tries:
        part = _tried(asked, part, console, json_file)
    if html_file is not None:
        files.write_files(_report(asked, part), json=None, html=html_file, force=force)
    _say_written(asked, part, json_file, html_file)
    return seen.status


@contextlib.contextmanager
def folder(
    output: Path | None, command: tuple[str, ...], pid: int | None, again: Sequence[str] = (), *, force: bool
) -> Iterator[Path]:
    """A new folder for what is seen, private to the user. Throws ReapError.

    `again` is what names a server on another command line.
    """
    if bool(command) == (pid is not None):
        raise ReapError(
            "name a command after --, or a process with --pid", "reap wall -- CMD", ExitCode.USAGE
        )
    name = reporting.name_of(list(command)) if command else str(pid)
    path = output or unused(f"wall-{name}")
    try:
        path.mkdir(mode=0o700, exist_ok=force)
    except FileExistsError as error:
        raise ReapError(f"{path} exists already", "give another name with -o, or --force") from error
    except OSError as error:
        raise ReapError(f"{path} cannot be created: {error.strerror}", elsewhere(error)) from error
    ours = (*measuring.RECORDINGS, _INPUT)
    if any(path.iterdir()) and not any((path / name).is_file() for name in (*ours, RESULTS)):
        raise ReapError(
            f"{path} was not written by reap wall, so --force does not replace it",
            "name another folder with -o",
        )
    # Of an earlier time, not to be taken for this one's.
    for name in ours:
        (path / name).unlink(missing_ok=True)
    try:
        yield path
    except ReapError:
        with contextlib.suppress(OSError):
            path.rmdir()  # if nothing was measured
        raise
    except KeyboardInterrupt:
        raise _stopped(path, list(again) or (["--", *command] if command else ["--pid", str(pid)])) from None


def _stopped(path: Path, watched: list[str]) -> ReapError:
    counted = path / measuring.COUNTED
    again = shlex.join(["reap", "wall", "-f", "-o", str(path), *watched])
    seen = any((path / name).exists() for name in measuring.RECORDINGS)
    if not seen:
        with contextlib.suppress(OSError):
            path.rmdir()
    return ReapError(
        f"stopped; what was seen until then is in {path}" if seen else "stopped before anything was seen",
        f"reap show {shlex.quote(str(counted))}" if counted.exists() else f"start again: {again}",
        ExitCode.SIGNALLED + signal.SIGINT,
    )


def _measured(asked: Asked) -> Measured:
    """Measures what the command line names. Throws ReapError."""
    if asked.pid is not None:
        return measuring.watch_running(asked.pid, asked.seconds, asked.path, _say)
    chosen = catalog.parse(asked.allocator) if asked.allocator else []
    if len(chosen) > 1:
        raise ReapError("only one allocator can be watched at a time", "name one", ExitCode.USAGE)
    found = programs.resolve(list(asked.command))
    if asked.server is not None:
        under = chosen[0] if chosen else Allocator(name=DEFAULT)
        with servers.under_load(asked.server, found, under) as pid:
            return measuring.watch_running(pid, asked.seconds, asked.path, _say)
    if chosen or found.sanitizer:
        programs.require_preloadable(found)
    stdin = spooled()
    if stdin is not None:
        write_safely(asked.path / _INPUT, b"".join(stdin), force=True)
    launch = Launch(
        argv=found.command,
        program=found.path,
        allocator=chosen[0].library if chosen else "",
        environment=chosen[0].environment if chosen else {},
        stdin=str(asked.path / _INPUT) if stdin is not None else "",
        timeout=asked.timeout,
    )
    return measuring.measure(launch, found, asked.path, _say, by_strace=asked.calls)


def _judged(asked: Asked, seen: Measured) -> WallPart:
    """The facts with their verdict."""
    write_safely(asked.path / STACKS, "".join(f"{line}\n" for line in seen.stacks).encode(), force=True)
    return WallPart(wall=seen.wall, wall_verdict=diagnosis.judge(seen.wall), stacks=seen.stacks)


def _write(asked: Asked, part: WallPart, json_file: Path | None, *, force: bool) -> None:
    """Writes the results and the page, to standard output nothing yet. Throws ReapError."""
    report = _report(asked, part)
    files.write_files(report, json=asked.path / RESULTS, html=asked.path / PAGE, force=True)
    if json_file != STANDARD_OUTPUT:
        files.write_files(report, json=json_file, html=None, force=force)


def _show(console: Console, part: WallPart) -> None:
    """Prints facts and verdict."""
    terminal.render(console, part.wall)
    if part.wall_verdict is not None:
        console.print()
        terminal.render_verdict(console, part.wall_verdict)


def _tried(asked: Asked, part: WallPart, console: Console, json_file: Path | None) -> WallPart:
    """Tries what would help and can be tried here; the part with what came of it. Throws ReapError."""
    verdict = part.wall_verdict
    if verdict is None or asked.pid is not None or asked.server is not None or not asked.command:
        return part
    base = catalog.parse(asked.allocator)[0] if asked.allocator else None
    planned = trial.plan(verdict, base=base, seconds=part.wall.wall_seconds, budget=asked.budget)
    if not planned.allocators:
        for said in planned.missing:
            _say(said)
        return part
    console.print()
    _say(f"trying {', '.join(each.name for each in planned.remedies)}, for at most {asked.budget:g} s")
    stdin = asked.path / _INPUT
    with (
        trial.begin(
            asked.path / REMEDIES,
            list(asked.command),
            planned,
            budget=asked.budget,
            timeout=asked.timeout,
            stdin=iter([stdin.read_bytes()]) if stdin.exists() else None,
            force=True,
        ) as runs,
        Bar() as bar,
    ):
        verdict, comparison = trial.tried(verdict, runs, planned, Terminal(bar))
    done = msgspec.structs.replace(part, wall_verdict=verdict, comparison=comparison)
    _write(asked, done, json_file, force=True)
    compare_terminal.render(console, comparison)
    terminal.render_trial(console, verdict)
    return done


def _say_written(asked: Asked, part: WallPart, json_file: Path | None, html_file: Path | None) -> None:
    """Names what was written, and the next command; writes what goes to standard output."""
    path, wall = asked.path, part.wall
    if json_file == STANDARD_OUTPUT:
        json_file = None
        files.write_files(_report(asked, part), json=STANDARD_OUTPUT, html=None, force=False)
    reporting.say_written("the report", html_file or path / PAGE)
    reporting.say_written("the results", json_file or path / RESULTS)
    reporting.say_written("stacks, folded", path / STACKS)
    if asked.server is not None:
        reporting.say_next(["reap", "compare", *asked.again])
    elif part.wall_verdict and (line := next_command(part.wall_verdict, wall)):
        click.echo(f"next: {with_input(line, wall.command)}", err=True)
    elif (path / measuring.COUNTED).exists():
        reporting.say_next(["reap", "show", str(path / measuring.COUNTED)])
    elif wall.custom_title:
        reporting.say_next(["reap", "wall", "--pid", str(wall.pid), "--seconds", "60"])
    elif wall.command:
        reporting.say_next(["reap", "wall", "--", *wall.command])


def _report(asked: Asked, part: WallPart) -> Report:
    command = part.wall.command
    title = reporting.name_of(command) if command else f"process {asked.pid}"
    return files.report_of(Answer(title=title, command=command, parts=[part]))


def _say(text: str) -> None:
    click.echo(text, err=True)
