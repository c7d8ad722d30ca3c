"""`reap wall`: where the time goes, what allocation costs, and what helps."""

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
from reap.answer.part import Part
from reap.answer.records import Answer, Report
from reap.base.errors import ExitCode, ReapError
from reap.base.files import STANDARD_OUTPUT, elsewhere, unused, write_safely
from reap.base.text import message, printable
from reap.commandline import outputs, reporting, servers
from reap.commandline.experiments import Terminal
from reap.commandline.progress import Bar
from reap.commandline.sections import Sectioned
from reap.commandline.size import SECONDS
from reap.commandline.stdin import spooled, with_input
from reap.compare.part import ComparisonPart
from reap.evidence import run as measuring
from reap.evidence import terminal as evidence_terminal
from reap.evidence.analyse.suspicions.suspect import to_try
from reap.evidence.explain import Explained
from reap.evidence.judge.records import Diagnosis
from reap.evidence.judge.verdict import diagnose
from reap.evidence.part import CausesPart, VerdictPart
from reap.evidence.run import Measured
from reap.experiment.records import Comparison
from reap.launch import program as programs
from reap.launch.records import Launch
from reap.recording import read
from reap.recording.analyse.profile import profile as analyse
from reap.server import words as server_words
from reap.server.records import Server
from reap.wall import run as trying
from reap.wall import terminal
from reap.wall.part import WallPart

RESULTS, PAGE, STACKS, TRIALS = "wall.json", "wall.html", "stacks.folded", "trials"
_INPUT = "stdin"


@dataclass(frozen=True)
class Asked:
    """Arguments of the command line."""

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


@click.command(cls=Sectioned)
@click.option("--pid", type=click.IntRange(min=1), help="Watch this running process.")
@click.option(
    "--seconds", type=SECONDS, default=10, show_default=True, help="With --pid or --server: how long."
)
@click.option("-a", "--allocator", help="Run CMD under this allocator: a name, or NAME=/path/lib.so.")
@click.option("--try/--no-try", "tries", default=True, help="Whether to run the trials. [default: try]")
@click.option(
    "--budget",
    type=SECONDS,
    default=120,
    show_default=True,
    help="Time limit for the trials, in seconds.",
)
@click.option("--calls", is_flag=True, help="Count system calls with strace where nothing else can.")
@click.option(
    "--timeout", type=SECONDS, help="Seconds until a run is stopped; with --server until it must be ready."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Output folder (default: a new reap-runs/wall-NAME-TIME).",
)
@outputs.json
@outputs.html
@outputs.force
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
    """Find out where a program's time goes, what allocation costs it, and what helps.

    Measures as `reap run` does, comes to the same verdict, and prints all that it rests on. CMD runs twice,
    its output discarded: once with nothing loaded into it, sampled from outside, and once more to count its
    allocations; a program with a garbage collector runs a third time to measure that. Then come the trials,
    in runs paired with the unchanged program. With --pid it watches a running process through the kernel
    only, and tries nothing; with --server that of a server that uses the most CPU time, while --load runs
    again and again. Children are counted also where their environment drops the recorder; with
    REAP_KEEP_ENVIRONMENT=1 environments stay as they are.

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
        write_safely(
            asked.path / STACKS, "".join(f"{printable(line)}\n" for line in seen.stacks).encode(), force=True
        )
        parts = _parts(asked, seen)
        _write(asked, parts, json_file, force=force)
    terminal.render(console, seen.wall)
    if tries and command and pid is None and server is None:
        parts = _tried(asked, seen, console)
        _write(asked, parts, json_file, force=True)
    if html_file is not None:
        files.write_files(_report(asked, parts), json=None, html=html_file, force=force)
    _say_written(asked, parts, json_file, html_file)
    console.print()
    evidence_terminal.render(console, _verdict_of(parts))
    if again:
        reporting.say_next(["reap", "compare", *again])
    elif seen.wall.custom_title:
        reporting.say_next(["reap", "wall", "--pid", str(pid), "--seconds", "60"])
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


def _parts(
    asked: Asked,
    seen: Measured,
    compared: Comparison | None = None,
    told: Explained | None = None,
) -> list[Part]:
    """Parts of the answer: the verdict, what is known, and what was tried."""
    told = told or Explained()
    recording = asked.path / measuring.COUNTED
    profile = analyse(read.read(recording), list(asked.command)) if seen.recorded else None
    verdict = diagnose(
        # A title that a process has given itself is no command that anybody could type.
        command=[] if seen.wall.custom_title else list(seen.wall.command),
        profile=profile,
        comparison=compared,
        causes=told.comparison,
        wall=seen.wall,
        suspicions=to_try(seen.wall),
        missing=told.missing,
        again=asked.again,
        trials_take=told.takes,
    )
    if asked.command and asked.server is None:
        pasted = with_input(verdict.next_command, list(asked.command))
        verdict = msgspec.structs.replace(verdict, next_command=pasted)
    parts: list[Part] = [VerdictPart(diagnosis=verdict), WallPart(wall=seen.wall, stacks=seen.stacks)]
    parts += [ComparisonPart(comparison=compared)] if compared else []
    return [*parts, CausesPart(causes=told.comparison)] if told.comparison else parts


def _verdict_of(parts: Sequence[Part]) -> Diagnosis:
    return next(part.diagnosis for part in parts if isinstance(part, VerdictPart))


def _write(asked: Asked, parts: list[Part], json_file: Path | None, *, force: bool) -> None:
    """Writes the results and the page, to standard output nothing yet. Throws ReapError."""
    report = _report(asked, parts)
    files.write_files(report, json=asked.path / RESULTS, html=asked.path / PAGE, force=True)
    if json_file != STANDARD_OUTPUT:
        files.write_files(report, json=json_file, html=None, force=force)


def _tried(asked: Asked, seen: Measured, console: Console) -> list[Part]:
    """Tries what the program may be tried with: the parts with what came of it. Throws ReapError."""
    with Bar() as bar:
        compared, told = trying.run(
            list(asked.command),
            seen.wall,
            asked.path / TRIALS,
            Terminal(bar),
            base=catalog.parse(asked.allocator)[0] if asked.allocator else None,
            budget=asked.budget,
            timeout=asked.timeout,
            stdin=asked.path / _INPUT,
        )
    if ran := [each for each in (compared, told.comparison) if each]:
        evidence_terminal.render_trials(console, ran)
    return _parts(asked, seen, compared, told)


def _say_written(asked: Asked, parts: Sequence[Part], json_file: Path | None, html_file: Path | None) -> None:
    """Names what was written; writes what goes to standard output."""
    path = asked.path
    if json_file == STANDARD_OUTPUT:
        json_file = None
        files.write_files(_report(asked, parts), json=STANDARD_OUTPUT, html=None, force=False)
    reporting.say_written("the report", html_file or path / PAGE)
    reporting.say_written("the results", json_file or path / RESULTS)
    reporting.say_written("stacks, folded", path / STACKS)


def _report(asked: Asked, parts: Sequence[Part]) -> Report:
    command = list(asked.command)
    title = reporting.name_of(command) if command else f"process {asked.pid}"
    return files.report_of(Answer(title=title, command=command, parts=list(parts)))


def _say(text: str) -> None:
    click.echo(message(text), err=True)
