"""Steps of `reap record`: recording from outside, and watching what is recorded with --live."""

import os
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from reap.base.errors import ExitCode, ReapError
from reap.commandline import recorded, reporting
from reap.commandline.errors import complain
from reap.launch import program as programs
from reap.launch import spawn
from reap.launch.process import attach as processes
from reap.launch.records import Launch, Outcome
from reap.record import run
from reap.recording import attach as attaching
from reap.recording.record import LostError
from reap.show.live import steps as view
from reap.show.live.run import Watched

Record = Callable[..., Outcome]
"""`recording.record.record` of a Launch, with `start`."""
_RELAY = 0.1
"""Seconds between two reads of what the program writes when the view is closed."""


def attach(pid: int, seconds: float, output: Path | None, options: dict[str, Any]) -> int:
    """Records a running process with the options of `attaching.attach`. Throws ReapError."""
    path = _file_of(pid, output)
    outcome = attaching.attach(pid, seconds, path, **options)
    recorded.say_attached(pid, outcome)
    return _said(path)


def watch_attached(pid: int, seconds: float, output: Path | None, options: dict[str, Any]) -> int:
    """Records a running process as `attach()` does, and shows that, until Ctrl-C. Throws ReapError."""
    path = _file_of(pid, output)
    viewed = view.has_terminal()
    with run.Attached(pid, seconds, path, options) as process:
        watched = Watched(path)
        view.show(lambda: watched.look(ended=process.ended), view.INTERVAL, viewed=viewed)
    outcome = process.outcome()
    view.say_last(watched)
    recorded.say_attached(pid, outcome)
    return _said(path)


def from_outside(
    command: tuple[str, ...], timeout: float | None, output: Path | None, options: dict[str, Any]
) -> int:
    """Records a program from outside of it. Throws ReapError."""
    reporting.require_file(output)
    found = programs.resolve(list(command))
    programs.require_traceable(found)
    path = output or Path(f"{reporting.name_of(found.command)}.reap")
    launch = Launch(argv=found.command, program=found.path, capture=False, timeout=timeout)
    try:
        outcome, seen = attaching.launch(launch, path, **options)
    except LostError as lost:
        complain(lost)
        return reporting.say_end(found.command[0], lost.outcome, timeout)
    status = reporting.say_end(found.command[0], outcome, timeout)
    recorded.say_watched(seen)
    _said(path)
    return status


def _file_of(pid: int, output: Path | None) -> Path:
    """The file for the recording of a process."""
    reporting.require_file(output)
    command = processes.command_of(pid)
    return output or Path(f"{reporting.name_of(command) if command else f'pid{pid}'}.reap")


def _said(path: Path) -> int:
    reporting.say_written("the recording", path)
    reporting.say_next(["reap", "show", str(path)])
    return ExitCode.OK


def watch(record: Record, launch: Launch, path: Path) -> Outcome:
    """Records a program to `path`, and shows that. Throws what `record` throws."""
    outcome, watched = (_viewed if view.has_terminal() else _printed)(record, launch, path)
    try:
        view.say_last(watched)
    except ReapError as error:
        complain(error)  # the program has ended, and so does the command, with its status
    return outcome


def _viewed(record: Record, launch: Launch, path: Path) -> tuple[Outcome, Watched]:
    """Runs the program while the view shows it, then prints what it wrote."""
    from reap.show.live import terminal

    launch = replace(launch, stdin=os.devnull)
    watched: list[Watched] = []
    with tempfile.TemporaryDirectory(prefix="reap-live-") as name:
        output = run.Output(Path(name))
        running = run.Running(
            lambda start: record(launch, start=start), output, lambda: watched.append(Watched(path))
        )
        running.start()
        running.wait_started()
        shown = terminal.View(
            lambda: watched[0].look(ended=running.ended),
            view.INTERVAL,
            tails=lambda: [(name, output.tail(at, 3)) for at, name in enumerate(("stdout", "stderr"))],
            send=running.send,
        )
        try:
            with running.passing_on():
                shown.run()
        except BaseException:
            running.send(signal.SIGTERM)
            raise
        with running.passing_on():  # the view takes handlers away when it closes
            while not running.ended:
                output.relay()
                running.wait(_RELAY)
            output.relay()
        return running.outcome(), watched[0]


def _printed(record: Record, launch: Launch, path: Path) -> tuple[Outcome, Watched]:
    """Runs the program as without --live, and prints lines beside it."""
    watched: list[Watched] = []
    ended = threading.Event()
    printer = threading.Thread(target=lambda: view.print_lines(watched[0].look, view.INTERVAL, ended))

    def start(launched: Launch) -> Outcome:
        watched.append(Watched(path))
        printer.start()
        try:
            return spawn.run(launched)
        finally:
            ended.set()
            printer.join()

    return record(launch, start=start), watched[0]
