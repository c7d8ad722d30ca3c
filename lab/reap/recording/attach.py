"""Recording a process that runs already, from outside of it."""

import errno
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from reap import native
from reap.base.errors import ExitCode, ReapError
from reap.base.files import native_name
from reap.launch.process import attach as processes
from reap.recording import record

MOST_OVERHEAD = 0.05
"""Of the CPU time of the process."""


def attach(
    pid: int,
    seconds: float,
    path: Path,
    *,
    force: bool = False,
    most_overhead: float = MOST_OVERHEAD,
    max_bytes: int = 0,
    labels: Sequence[tuple[str, str]] = (),
) -> native.AttachOutcome:
    """Watches the allocations of a process for so long, until it ends, or until Ctrl-C, into `path`.

    Nothing enters the process and it is not stopped: the kernel counts the calls of its allocator by uprobes,
    in windows of time that cost the process about `most_overhead` of its CPU time, or 1 % of a core where
    that is more. `max_bytes` and `labels` are as in `record.record`. Throws ReapError where there is no such
    process, where the kernel refuses, or where the file cannot be written.
    """
    command = processes.command_of(pid)
    if pid == os.getpid():
        raise ReapError(f"process {pid} is reap itself", "name another process", ExitCode.USAGE)
    trace = native_name(path.absolute())

    def create() -> None:
        record.make_room(path, force=force)
        native.create_trace(
            trace,
            native.TRIAGE,
            native.MONOTONIC_NS,
            native.SAMPLER_NONE,
            0,
            max_blocks=record.blocks(max_bytes),
            labels=list(labels),
        )

    try:
        outcome = native.attach(trace, pid, seconds, create, most_overhead)
    except OSError as error:
        raise ReapError(
            f"the recording {path} cannot be written: {error.strerror}", "name another file with -o"
        ) from error
    if outcome.failed_step:
        raise _refused(pid, command, outcome)
    record.finish(path)
    return outcome


def _refused(pid: int, command: list[str], outcome: native.AttachOutcome) -> ReapError:
    """What was refused, why, and what to do instead."""
    number = outcome.errno
    if outcome.failed_step == "process" and number == errno.ESRCH:
        return ReapError(
            f"process {pid} cannot be watched: it has ended, or is a thread of the kernel",
            "name a program's process: pgrep NAME",
            ExitCode.NOT_FOUND,
        )
    again = f"restart it under the recorder: reap record -- {shlex.join(command)}"
    if number in (errno.EPERM, errno.EACCES):
        return ReapError(
            f"process {pid} cannot be watched: {_DENIED[outcome.failed_step]}",
            f"sudo reap record --pid {pid}, or {again}",
            ExitCode.NOT_EXECUTABLE,
        )
    why = {
        "symbols": f"no allocation function was found in {outcome.detail} or its libraries: it is stripped, "
        "or has an allocator that is not known",
        "uprobes": "the kernel has no uprobes (/sys/bus/event_source/devices/uprobe is missing)",
        "bpf": f"the kernel does not take the program of the probes: {os.strerror(number)}",
        "perf": f"the kernel does not set a probe: {os.strerror(number)}",
    }.get(outcome.failed_step, os.strerror(number))
    return ReapError(f"process {pid} cannot be watched: {why}", again, ExitCode.NOT_EXECUTABLE)


_DENIED = {
    "process": "it belongs to another user, or may not be looked at",
    "perf": "uprobes are for root, or for CAP_PERFMON (perf_event_open was refused)",
    "bpf": "the programs of probes are for root, or for CAP_BPF with CAP_PERFMON (bpf was refused)",
}
"""By step, where rights are missing. A container refuses both calls to root, too, unless it is privileged."""
