"""Asks a JVM for its own account of its memory, where its native memory tracking is on.

`jcmd` of the JDK asks, from the user's PATH and as the user of the process, never a file that the process
names: it attaches as the JDK does, which a JVM without the option to track is spared. An answer takes
0.2 s of CPU time, so that it is waited for in the background, and asked for ever more rarely.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field

from reap.launch.process import smaps
from reap.launch.process.records import Kernel, Native

_TRACKS = re.compile(rb"-XX:NativeMemoryTracking=(?:summary|detail)\b")
_FIRST = 1.0
"""Seconds of age before which a JVM is not asked: most of what it will have is not there yet."""
_AGAIN = 10.0
"""Seconds between two answers at least; then as many as have passed since the watching began."""
_WAIT = 3.0
"""Seconds that the first snapshot of a process waits that runs already: the watching may be short."""
_LONGEST = 30.0
"""Seconds after which an answer is given up."""
_MOST = 1 << 16
"""Bytes of an answer that are read; it has some 5,000."""

_CATEGORY = re.compile(r"^-\s+([A-Za-z][A-Za-z ]{0,40}?) \(reserved=\d{1,15}KB, committed=(\d{1,15})KB\)")
_MAPPED = re.compile(r"\((?:mmap|stack): reserved=\d{1,15}KB, committed=(\d{1,15})KB")


def parse(text: str) -> list[Native]:
    """Categories of `jcmd PID VM.native_memory summary scale=KB`; empty where it is another text."""
    found: list[Native] = []
    committed, mapped = 0, 0
    for line in text.splitlines():
        if category := _CATEGORY.match(line):
            committed, mapped = int(category[2]) << 10, 0
            found.append(Native(name=category[1], malloc=committed, mapped=0))
        elif found and (part := _MAPPED.search(line)):
            mapped += int(part[1]) << 10
            found[-1] = Native(name=found[-1].name, malloc=max(committed - mapped, 0), mapped=mapped)
    return found


def is_tracked(pid: int) -> bool:
    """Whether a process was started with tracking on, and handles the signal by which a JVM is attached to.

    A JVM that leaves SIGQUIT to others (-Xrs) would end by it.
    """
    directory = smaps.PROC / str(pid)
    with contextlib.suppress(OSError):
        words = (directory / "cmdline").read_bytes() + b"\0" + (directory / "environ").read_bytes()
        caught = re.search(rb"^SigCgt:\s+([0-9a-f]+)", (directory / "status").read_bytes(), re.MULTILINE)
        quits = caught is not None and bool(int(caught[1], 16) >> (signal.SIGQUIT - 1) & 1)
        return quits and _TRACKS.search(words) is not None
    return False


@dataclass
class _Process:
    """State of the asking of one process."""

    due: float
    question: "subprocess.Popen[bytes] | None" = None
    since: float = field(default_factory=time.monotonic)


class Account:
    """Asks the JVMs among the watched processes in the background."""

    def __init__(self) -> None:
        self._processes: dict[int, _Process] = {}
        self._jcmd = shutil.which("jcmd")

    def look(self, pid: int, kernel: Kernel, now: float) -> list[Native]:
        """An answer that has come since the last look; empty for none, and for what is no JVM.

        `now` is in seconds since the watching began.
        """
        if self._jcmd is None or not (kernel.java or kernel.jvm):
            return []
        process = self._processes.get(pid)
        is_first = process is None
        if process is None:
            try:
                process = self._processes[pid] = _Process(due=now + max(0.0, _FIRST - smaps.age(pid)))
            except smaps.EndedError:
                return []
        if process.question is None and now >= process.due:
            process.due = now + max(_AGAIN, now)
            if not is_tracked(pid):
                return []
            process.question, process.since = _ask(self._jcmd, pid), time.monotonic()
            if is_first and process.question is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.question.wait(_WAIT)
        return _answer(process)

    def close(self) -> None:
        """Gives up what was not answered."""
        for process in self._processes.values():
            if process.question is not None:
                _end(process.question)
                process.question = None


def _ask(jcmd: str, pid: int) -> "subprocess.Popen[bytes] | None":
    user, group = None, None
    with contextlib.suppress(OSError):
        owner = (smaps.PROC / str(pid)).stat()
        if os.geteuid() == 0 and owner.st_uid != 0:
            user, group = owner.st_uid, owner.st_gid
    try:
        return subprocess.Popen(
            [jcmd, str(pid), "VM.native_memory", "summary", "scale=KB"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return None


def _answer(process: _Process) -> list[Native]:
    question = process.question
    if question is None:
        return []
    if question.poll() is None:
        if time.monotonic() - process.since > _LONGEST:
            _end(question)
            process.question = None
        return []
    process.question = None
    assert question.stdout is not None  # noqa: S101 - it is a pipe
    with question.stdout:
        return parse(question.stdout.read(_MOST).decode(errors="replace"))


def _end(question: "subprocess.Popen[bytes]") -> None:
    question.kill()
    question.wait()
    if question.stdout is not None:
        question.stdout.close()
