"""`reap live`: watch a program's allocations while it runs."""

import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from reap.base import packages
from reap.base.errors import ExitCode, ReapError
from reap.commandline.errors import complain

if TYPE_CHECKING:
    from reap.launch.records import Launch, Outcome
    from reap.live.records import Moment
    from reap.live.run import Watched
    from reap.recording.record import Depth

    Start = Callable[[Launch], Outcome]
    Record = Callable[[Start], Outcome]

_PROGRAM = "reap.live.program"
"""In the context: whether -- was given, so that what follows is a program."""
_RELAY = 0.1
"""Seconds between two looks at what the program writes when the view is closed."""


class _FileOrProgram(click.Command):
    """Tells `reap live FILE` from `reap live -- CMD`: click does not keep the two hyphens."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Notes whether they were there."""
        ctx.meta[_PROGRAM] = "--" in args
        return super().parse_args(ctx, args)


@click.command(cls=_FileOrProgram)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep the recording in this file (default: it is deleted at the end).",
)
@click.option(
    "-d",
    "--depth",
    type=click.Choice(["triage", "full"]),
    default="triage",
    show_default=True,
    help="triage counts every event and samples stacks and live bytes; full writes every event.",
)
@click.option("-a", "--allocator", help="Record CMD under this allocator: a name, or NAME=/path/lib.so.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds until CMD is stopped.")
@click.option("--pid", type=click.IntRange(min=1), help="Watch this running process instead of running CMD.")
@click.option("-f", "--force", is_flag=True, help="Replace the file of -o if it exists.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    help="Seconds between two refreshes.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop watching after so many seconds; CMD runs on to its end.",
)
@click.option(
    "--plain",
    is_flag=True,
    help="Print a line at each refresh instead of the view; the default without a terminal.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FILE | -- CMD...")
@click.pass_context
def live(
    context: click.Context,
    words: tuple[str, ...],
    output: Path | None,
    depth: "Depth",
    allocator: str | None,
    timeout: float | None,
    pid: int | None,
    force: bool,
    interval: float,
    seconds: float | None,
    plain: bool,
) -> int:
    """Watch a program's allocations while it runs.

    Shows allocations a second, live bytes, resident memory, the sites that hold most and allocate most, and
    sizes. CMD is recorded as by reap record; while the view has the terminal, CMD's output is kept, and
    printed unchanged after it. FILE is a recording in progress: start reap record in another terminal.

    Only reads the recording, and so does not slow CMD down. q closes the view and Ctrl-C interrupts CMD.
    Exits with CMD's own status; 0 with FILE or --pid.

    --pid watches a process that runs already, and its children, as reap record --pid does: all is estimated,
    and live bytes are not known. Requires root, or CAP_PERFMON and CAP_BPF.

    \b
        reap live -- perl script.pl
        reap live perl.reap
        reap live --pid $(pidof -s redis-server)
    """  # noqa: D301 - click wants the character itself
    from reap.commandline.experiments import written

    viewed = not plain and all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    if viewed:
        _require_textual()
    if pid is not None:
        unused = ["CMD"] if words else sorted(written(context, ("depth", "allocator", "timeout")))
        if unused:
            raise ReapError(
                f"{unused[0]} must not be used with --pid", f"reap live --pid {pid}", ExitCode.USAGE
            )
        return _attached(pid, output, interval, seconds, force=force, viewed=viewed)
    if not context.meta[_PROGRAM]:
        if len(words) != 1:
            hint = "reap live FILE, or reap live -- CMD"
            raise ReapError("give one recording, or a program after --", hint, ExitCode.USAGE)
        return _file(Path(words[0]), interval, seconds, viewed=viewed)

    from reap.commandline import reporting
    from reap.commandline.recorded import to_record
    from reap.recording import record as recording

    reporting.require_file(output)
    launch = to_record(words, allocator, timeout)
    with tempfile.TemporaryDirectory(prefix="reap-live-") as name:
        path = output or Path(name) / "recording.reap"

        def record(start: "Start") -> "Outcome":
            stdin = os.devnull if viewed else ""
            return recording.record(replace(launch, stdin=stdin), path, depth, force=force, start=start)

        watch = _viewed if viewed else _plainly
        outcome = watch(record, path, Path(name), interval, seconds)
    status = reporting.say_end(launch.argv[0], outcome, timeout)
    for said in recording.told(outcome, output):
        click.echo(f"note: {said}", err=True)
    if output is None:
        reporting.say_next(["reap", "record", "--", *words])
    else:
        reporting.say_written("the recording", output)
        reporting.say_next(["reap", "show", str(output)])
    return status


def _viewed(record: "Record", path: Path, folder: Path, interval: float, seconds: float | None) -> "Outcome":
    """Runs the program while the view shows it, then prints what it wrote."""
    from reap.live import run, terminal

    output = run.Output(folder)
    running = run.Running(record, output)
    running.start()
    watched = run.Watched(path) if running.started() else None
    if watched is not None:
        view = terminal.View(
            lambda: watched.look(ended=running.ended),
            interval,
            seconds=seconds,
            tails=lambda: [(name, output.tail(at, 3)) for at, name in enumerate(("stdout", "stderr"))],
            send=running.send,
        )
        try:
            view.run()
        except BaseException:
            running.send(signal.SIGTERM)
            raise
    while not running.ended:
        with _interrupting(running.send):
            output.relay()
            running.wait(_RELAY)
    output.relay()
    outcome = _kept(running.outcome)
    if watched is not None:
        _say_last(watched)
    return outcome


def _plainly(
    record: "Record", path: Path, _folder: Path, interval: float, seconds: float | None
) -> "Outcome":
    """Runs the program as `reap record` does, and prints lines beside it."""
    from reap.launch import spawn
    from reap.live import run

    held: list[Watched] = []
    ended = threading.Event()
    printer = threading.Thread(target=lambda: _print_lines(held[0].look, interval, seconds, ended))

    def start(launch: "Launch") -> "Outcome":
        held.append(run.Watched(path))
        printer.start()
        try:
            return spawn.run(launch)
        finally:
            ended.set()
            printer.join()

    outcome = _kept(lambda: record(start))
    _say_last(held[0])
    return outcome


def _file(path: Path, interval: float, seconds: float | None, *, viewed: bool) -> int:
    """Watches a recording that another command makes."""
    from reap.commandline import reporting
    from reap.live import run, words

    last = _show(run.Watched(path).look, interval, seconds, viewed=viewed)
    for said in words.summary(last) if last is not None else []:
        click.echo(said, err=True)
    reporting.say_next(["reap", "show", str(path)])
    return ExitCode.OK


def _attached(
    pid: int, output: Path | None, interval: float, seconds: float | None, *, force: bool, viewed: bool
) -> int:
    """Watches a process that runs already."""
    from reap.commandline import recorded, reporting
    from reap.live import run

    reporting.require_file(output)
    with tempfile.TemporaryDirectory(prefix="reap-live-") as name:
        path = output or Path(name) / "recording.reap"
        with run.Attached(pid, path, force=force) as process:
            watched = run.Watched(path)
            _show(lambda: watched.look(ended=process.ended), interval, seconds, viewed=viewed)
        _say_last(watched)
    recorded.say_attached(pid, process.outcome())
    if output is None:
        reporting.say_next(["reap", "record", "--pid", str(pid)])
    else:
        reporting.say_written("the recording", output)
        reporting.say_next(["reap", "show", str(output)])
    return ExitCode.OK


def _show(
    look: "Callable[[], Moment]", interval: float, seconds: float | None, *, viewed: bool
) -> "Moment | None":
    """The view, or lines, until nothing more comes, for so many seconds, or until it is closed."""
    if not viewed:
        return _print_lines(look, interval, seconds, threading.Event())
    from reap.live import terminal

    view = terminal.View(look, interval, seconds=seconds)
    view.run()
    if view.error is not None:
        raise view.error
    return view.moment


def _print_lines(
    look: "Callable[[], Moment]", interval: float, seconds: float | None, ended: threading.Event
) -> "Moment | None":
    """A line each `interval`, until nothing more comes, for so many seconds, or until `ended` or Ctrl-C."""
    from reap.live import words

    begun = time.monotonic()
    last: Moment | None = None
    due = begun + interval
    try:
        while not ended.wait(max(0.0, due - time.monotonic())):
            last = look()
            while last.behind and time.monotonic() < due + interval and not ended.is_set():
                last = look()
            click.echo(words.line(last), err=True)
            if last.over or (seconds is not None and time.monotonic() - begun >= seconds):
                break
            due = max(due + interval, time.monotonic())
    except KeyboardInterrupt:
        pass
    except ReapError as error:
        if threading.current_thread() is threading.main_thread():
            raise
        complain(error)  # the program runs on
    return last


def _say_last(watched: "Watched") -> None:
    """Prints the totals of the whole recording."""
    from reap.live import words

    last = watched.look(ended=True)
    while last.behind:
        last = watched.look(ended=True)
    for said in words.summary(last):
        click.echo(said, err=True)


def _kept(outcome: "Callable[[], Outcome]") -> "Outcome":
    """Outcome of the program, also where its recording is lost, which is reported."""
    from reap.recording.record import LostError

    try:
        return outcome()
    except LostError as lost:
        complain(lost)
        return lost.outcome


@contextlib.contextmanager
def _interrupting(send: "Callable[[signal.Signals], None]") -> Iterator[None]:
    """Ctrl-C is meant for the program, which is in another process group."""
    try:
        yield
    except KeyboardInterrupt:
        send(signal.SIGINT)


def _require_textual() -> None:
    packages.require("textual", "the view of reap live", "textual>=3", otherwise=", or use --plain")
