"""Runs programs in turns: all are started, and of one at a time all processes run, on all cores.

For programs that use several cores. Turns of some tens of milliseconds, in random order, meet the same
disturbance; the caches that a turn finds cold are filled in a small part of it. Wall time says nothing.

Turns are made by SIGSTOP and SIGCONT, sent to all descendants of a launcher. A program that waits for stopped
children sees its children stop; one that handles SIGCONT is told; a process whose parent has ended is no
descendant any more, and runs on.
"""

import contextlib
import os
import random
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from reap.launch import native_files
from reap.launch.process import smaps

_TURN = (0.02, 0.05)
"""Seconds, at least and at most."""
_PASSES = 50
"""In which a tree must be found to have stopped; each stops what the one before has missed."""
_PATIENCE = 1.0
"""Seconds within which a launcher's program executes."""


def take_turns(launchers: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Has the programs of these launchers take turns until one is left, which then runs on.

    Whatever is thrown within, none is left stopped.
    """
    draw = random.Random()  # noqa: S311 - no secret
    left = {process.pid: process for process in launchers}
    try:
        for launcher in left:
            _await_program(launcher)
        for launcher in left:
            _stop(launcher)
        while len(left) > 1:
            for launcher in draw.sample(sorted(left), len(left)):
                _continue(launcher)
                if _ends(launcher, draw.uniform(*_TURN)):
                    del left[launcher]
                else:
                    _stop(launcher)
    finally:
        for launcher in left:
            _continue(launcher)


def _await_program(launcher: int) -> None:
    """Until it has executed: a launcher that waits for that of a stopped program hears no signals."""
    own = os.path.realpath(native_files.spawner())
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            if any(os.path.realpath(f"/proc/{each}/exe") != own for each in smaps.descendants(launcher)):
                return
            if not Path(f"/proc/{launcher}/exe").exists():
                return
        time.sleep(0.0005)


def _ends(launcher: int, seconds: float) -> bool:
    """Whether the launcher ends within so many seconds, which it then does not use up."""
    try:
        ended = os.pidfd_open(launcher)
    except ProcessLookupError:
        return True
    try:
        waiting = select.poll()
        waiting.register(ended, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))
    finally:
        os.close(ended)


def _stop(launcher: int) -> None:
    stopped: set[int] = set()
    for _ in range(_PASSES):
        new = [each for each in smaps.descendants(launcher) if each not in stopped]
        if not new:
            return
        _send(new, signal.SIGSTOP)
        stopped.update(new)


def _continue(launcher: int) -> None:
    _send(smaps.descendants(launcher), signal.SIGCONT)


def _send(processes: Sequence[int], number: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, number)
