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
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from reap.launch import native_files
from reap.launch.process import smaps

_TURN = (0.02, 0.05)
"""Seconds, at least and at most."""
_PASSES = 50
"""In which a tree must be found to have stopped; each stops what the one before has missed."""
_PATIENCE = 1.0
"""Seconds within which a launcher's program executes."""


def take_turns(
    launchers: Sequence["subprocess.Popen[bytes]"],
    beside: Mapping[int, int] = MappingProxyType({}),
    enough: Callable[[], bool] = lambda: False,
) -> None:
    """Has the programs of these launchers take turns until one is left, which then runs on.

    `beside` are launchers, by those of `launchers`, whose programs run in the turns of these. It ends as soon
    as it has had `enough`, too. Whatever is thrown within, none is left stopped.
    """
    draw = random.Random()  # noqa: S311 - no secret
    left = {process.pid: [process.pid, *filter(None, [beside.get(process.pid)])] for process in launchers}
    try:
        for launcher in left:
            _await_program(launcher)
        for group in left.values():
            _stop(group)
        while len(left) > 1 and not enough():
            for launcher in draw.sample(sorted(left), len(left)):
                _continue(left[launcher])
                if _ends(launcher, draw.uniform(*_TURN)):
                    del left[launcher]
                else:
                    _stop(left[launcher])
    finally:
        for group in left.values():
            _continue(group)


@contextlib.contextmanager
def turns(launchers: Sequence["subprocess.Popen[bytes]"], beside: Mapping[int, int]) -> Iterator[None]:
    """The same while something else is done within; at its end all run on."""
    over = threading.Event()
    taking = threading.Thread(target=take_turns, args=(launchers, beside, over.is_set))
    taking.start()
    try:
        yield
    finally:
        over.set()
        taking.join()


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


def _stop(launchers: Sequence[int]) -> None:
    stopped: set[int] = set()
    for _ in range(_PASSES):
        new = [each for each in _descendants(launchers) if each not in stopped]
        if not new:
            return
        _send(new, signal.SIGSTOP)
        stopped.update(new)


def _continue(launchers: Sequence[int]) -> None:
    _send(_descendants(launchers), signal.SIGCONT)


def _descendants(launchers: Sequence[int]) -> list[int]:
    return [each for launcher in launchers for each in smaps.descendants(launcher)]


def _send(processes: Sequence[int], number: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, number)
