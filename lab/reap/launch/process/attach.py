"""Watches a process that runs already, through the launcher: nothing enters it and it is not stopped."""

import contextlib
import errno
import os
import signal
import subprocess
from pathlib import Path

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.records import Record
from reap.launch import native_files
from reap.launch.process import smaps


class Attached(Record):
    """Cost of a process while it was watched. Times in nanoseconds."""

    ended: bool
    """It ended meanwhile."""
    wall_ns: int
    user_ns: int
    system_ns: int
    minor_faults: int
    major_faults: int


class _Answer(msgspec.Struct):
    """Answer of the launcher; all but `errno` is there where that is 0."""

    errno: int


def watch(pid: int, seconds: float, options: list[str]) -> Attached:
    """Watches for so long, until the process ends, or until Ctrl-C, which ends the watching alone.

    `options` say into which trace and what. Throws ReapError where there is no such process, or where it may
    not be looked at.
    """
    command = [str(native_files.spawner()), "--attach", str(pid), "--timeout-ms", str(round(seconds * 1000))]
    process = subprocess.Popen(
        [*command, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    text, said = b"", b""
    try:
        text, said = process.communicate()
    except KeyboardInterrupt:  # a terminal's went to the launcher, too; another's did not
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        text, said = process.communicate()
    if process.returncode != 0 or not text:
        raise ReapError(
            f"the launcher failed when watching process {pid}: {said.decode(errors='replace').strip()}",
            "run `reap doctor`",
        )
    number = msgspec.json.decode(text, type=_Answer).errno
    if number:
        raise ReapError(
            f"process {pid} cannot be watched: {os.strerror(number)}", _hint(pid, number), ExitCode.FAILED
        )
    return msgspec.json.decode(text, type=Attached)


def command_of(pid: int) -> list[str]:
    """The command line of a process; empty where it has none. Throws ReapError where there is no process."""
    folder = Path(f"/proc/{pid}")
    try:
        shown = (folder / "cmdline").read_bytes()  # which says why, unlike smaps.command()
        return smaps.command(pid) if shown else []
    except OSError as error:
        if not folder.exists():
            hint = "no /proc to look at" if not Path("/proc/self").exists() else "pgrep NAME finds another"
            raise ReapError(f"there is no process {pid}", hint, ExitCode.NOT_FOUND) from error
        raise ReapError(
            f"/proc does not show process {pid}: {error.strerror}",
            "look as its user or as root; in a container share its process namespace (--pid=container:NAME)",
            ExitCode.FAILED,
        ) from error


def _hint(pid: int, number: int) -> str:
    if number == errno.ESRCH or not Path(f"/proc/{pid}").exists():
        return "it has ended; where a supervisor starts it again, name the new one: pgrep NAME"
    return "watch it as its own user or as root"
