"""Recording processes from outside of them, by uprobes."""

import errno
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from reap import native
from reap.base.errors import ExitCode, ReapError
from reap.base.files import native_name
from reap.launch import held
from reap.launch.process import attach as processes
from reap.launch.records import Launch, Outcome
from reap.recording import record, refusal

MOST_OVERHEAD = 0.05
"""Of the CPU time of the process."""


def attach(
    pid: int,
    seconds: float,
    path: Path,
    *,
    force: bool = False,
    most_overhead: float = MOST_OVERHEAD,
    python: bool = True,
    max_bytes: int = 0,
    labels: Sequence[tuple[str, str]] = (),
    verb: str = "record",
    created: Callable[[], None] = lambda: None,
    stopped: Callable[[], bool] | None = None,
) -> native.AttachOutcome:
    """Watches the allocations of a process and its descendants into `path`.

    For so long, until it ends, or until Ctrl-C; in another thread than the main one, until `stopped` says so.
    Nothing enters the processes and none is stopped: the kernel counts the calls of their allocators by
    uprobes, in windows of time that cost each at most `most_overhead` of its CPU time, or 1 % of a core while
    it sleeps. The window that begins a recording is paid for afterwards. `python`, `max_bytes` and `labels`
    are as in `record.record`; `verb` is the command that is named where it is refused; `created` is called
    when the recording can be read.
    Throws ReapError where there is no such process, where the kernel refuses, or where the file cannot be
    written.
    """
    command = processes.command_of(pid)
    if pid == os.getpid():
        raise ReapError(f"process {pid} is reap itself", "name another process", ExitCode.USAGE)
    create = _creating(path, max_bytes, labels, python=python, force=force, created=created)
    outcome = _watch(pid, seconds, path, create, most_overhead, python=python, stopped=stopped)
    if outcome.failed_step:
        raise _refused(
            f"process {pid}",
            f"reap {verb} --pid {pid}",
            f"restart it under the recorder: reap record -- {shlex.join(command)}",
            outcome,
        )
    record.finish(path, held=outcome.held)
    return outcome


def launch(
    launched: Launch,
    path: Path,
    *,
    force: bool = False,
    most_overhead: float = MOST_OVERHEAD,
    python: bool = True,
    max_bytes: int = 0,
    labels: Sequence[tuple[str, str]] = (),
) -> tuple[Outcome, native.AttachOutcome]:
    """Runs a program and watches it as `attach` does, from its first instruction to its end.

    What its loader does before that is not seen. Throws ReapError as `attach`, and then the program was not
    run; what `held.run` throws; and LostError where it ended before its first instruction.
    """
    record.make_room(path, force=force)
    watched: list[native.AttachOutcome] = []

    def attach_to(pid: int, execute: Callable[[], None]) -> None:
        create = _creating(path, max_bytes, labels, python=python, force=force)
        watched.append(_watch(pid, FOREVER, path, create, most_overhead, python=python, execute=execute))
        if watched[0].failed_step:
            command = shlex.join(launched.argv)
            raise _refused(
                launched.program,
                f"reap record --via uprobe -- {command}",
                f"see how much of its CPU time it spends where: reap wall -- {command}",
                watched[0],
            )

    outcome = held.run(launched, attach_to)
    if not watched[0].executed:
        cause = ReapError(
            f"{launched.program} ended before its first instruction, so that there is no recording",
            "run it without reap to see more",
        )
        raise record.LostError(cause, outcome)
    try:
        record.finish(path, held=watched[0].held)
    except ReapError as error:
        raise record.LostError(error, outcome) from error
    return outcome, watched[0]


FOREVER = 1e9
"""Seconds: until the process ends."""


def _creating(
    path: Path,
    max_bytes: int,
    labels: Sequence[tuple[str, str]],
    *,
    python: bool,
    force: bool,
    created: Callable[[], None] = lambda: None,
) -> Callable[[], None]:
    def create() -> None:
        record.make_room(path, force=force)
        native.create_trace(
            native_name(path.absolute()),
            native.TRIAGE,
            native.MONOTONIC_NS,
            native.SAMPLER_NONE,
            0,
            native_only=not python,
            max_blocks=record.blocks(max_bytes),
            labels=list(labels),
        )
        created()

    return create


def _watch(
    pid: int,
    seconds: float,
    path: Path,
    create: Callable[[], None],
    most_overhead: float,
    *,
    python: bool,
    execute: Callable[[], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> native.AttachOutcome:
    try:
        trace = native_name(path.absolute())
        return native.attach(trace, pid, seconds, create, most_overhead, python, execute, stopped)
    except OSError as error:
        raise ReapError(
            f"the recording {path} cannot be written: {error.strerror}", "name another file with -o"
        ) from error


def _refused(what: str, command: str, instead: str, outcome: native.AttachOutcome) -> ReapError:
    """Error that says what cannot be watched by this command, why, and what to do instead."""
    if outcome.failed_step == "process" and outcome.errno == errno.ESRCH:
        return ReapError(
            f"{what} cannot be watched: it has ended, or is a thread of the kernel",
            "name a program's process: pgrep NAME",
            ExitCode.NOT_FOUND,
        )
    if refusal.is_denied(outcome):
        lacking = "--cap-add=SYS_PTRACE" if outcome.failed_step == "process" else "--privileged"
        allow = f"sudo {command}" if os.geteuid() != 0 else f"in a container {lacking}"
        return ReapError(
            f"{what} cannot be watched: {refusal.why(outcome)}",
            f"{allow}, or {instead}",
            ExitCode.NOT_EXECUTABLE,
        )
    return ReapError(f"{what} cannot be watched: {refusal.why(outcome)}", instead, ExitCode.NOT_EXECUTABLE)
