"""Runs programs in turns: all are started, and of one at a time all processes run, on all cores.

For programs that use several cores. Turns of some tens of milliseconds, in random order, meet the same
disturbance; the caches that a turn finds cold are filled in a small part of it. Where many take turns, those
that are compared with each other are to be near: between two turns of fifty programs pass some seconds.

Turns are made by the freezer of cgroups where there is one for us (`freezer`), else by SIGSTOP and SIGCONT,
sent to all descendants of a launcher. Then a program that waits for stopped children sees its children stop;
one that handles SIGCONT is told; a process whose parent has ended is no descendant any more, and runs on.
"""

import contextlib
import functools
import os
import random
import select
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from reap.launch import freezer, native_files
from reap.launch.process import settled, smaps

Near = tuple[str, ...]
"""Programs of equal words take turns one after another, and so do those of equal first words."""
Turn = tuple[float, float]
TURN: Turn = (0.02, 0.05)
"""Seconds, at least and at most."""
LONG_TURN: Turn = (0.1, 0.2)
"""Where misses in caches are what is measured: a turn finds them as others left them."""
_PASSES = 50
"""In which a tree must be found to have stopped; each stops what the one before has missed."""
_PATIENCE = 1.0
"""Seconds within which a launcher's program executes."""


class Stopper(Protocol):
    """Stops and continues the programs of a turn."""

    def stop(self) -> None:
        """Stops them: when this returns, nothing of them runs."""

    def go_on(self) -> None:
        """Lets them run."""


class Signals:
    """Does so by signals."""

    def __init__(self, launchers: Sequence[int]) -> None:
        self._launchers = launchers

    def stop(self) -> None:
        """Stops all descendants of the launchers."""
        stopped: set[int] = set()
        for _ in range(_PASSES):
            new = [each for each in _descendants(self._launchers) if each not in stopped]
            if not new:
                return
            _send(new, signal.SIGSTOP)
            stopped.update(new)

    def go_on(self) -> None:
        """Continues them."""
        _send(_descendants(self._launchers), signal.SIGCONT)


def take_turns(
    launchers: Sequence["subprocess.Popen[bytes]"],
    beside: Mapping[int, int] = MappingProxyType({}),
    enough: Callable[[], bool] = lambda: False,
    turn: Turn = TURN,
    near: Sequence[Near] = (),
) -> list[list[settled.Interval]]:
    """Has the programs of these launchers take turns until all have ended; when each one had its turns.

    All have a turn before one has its next, in random order, but for what is `near`, as many words for each.
    `beside` are launchers, by those of `launchers`, whose programs run in the turns of these. It ends as soon
    as it has had `enough`, too. Whatever is thrown within, none is left stopped.
    """
    draw = random.Random()  # noqa: S311 - no secret
    own = {process.pid: [process.pid, *filter(None, [beside.get(process.pid)])] for process in launchers}
    ran: dict[int, list[settled.Interval]] = {launcher: [] for launcher in own}
    words = dict(zip(own, near or [()] * len(own), strict=True))
    for launcher in own:
        _await_program(launcher)
    with _stoppers(own) as stoppers:
        left, stopped = set(own), set(own)
        try:
            for launcher in left:
                stoppers[launcher].stop()
            while left and not enough():
                for launcher in shuffled({each: words[each] for each in left}, draw):
                    begun = time.monotonic_ns()
                    if launcher in stopped:
                        stoppers[launcher].go_on()
                        stopped.remove(launcher)
                    if _ends(launcher, draw.uniform(*turn)):
                        left.remove(launcher)
                    elif len(left) > 1:
                        stopped.add(launcher)
                        stoppers[launcher].stop()
                    ran[launcher].append((begun, time.monotonic_ns()))
        finally:
            for launcher in left:
                stoppers[launcher].go_on()
    return list(ran.values())


def shuffled(near: Mapping[int, Near], draw: random.Random) -> list[int]:
    """The keys in random order, in which equal words stay together, and equal first words."""
    rank: Mapping[Near, float] = defaultdict(draw.random)

    def place(each: int) -> list[float]:
        words = near[each]
        return [*(rank[words[: end + 1]] for end in range(len(words))), draw.random()]

    return sorted(near, key=place)


@contextlib.contextmanager
def _stoppers(own: Mapping[int, Sequence[int]]) -> Iterator[Mapping[int, Stopper]]:
    """Yields what stops the programs of each: a group that can be frozen, or else signals."""
    with contextlib.ExitStack() as stack:
        hierarchy = freezer.here()
        groups: Sequence[freezer.Group] = []
        try:
            if hierarchy is not None:
                groups = stack.enter_context(freezer.groups(hierarchy, len(own)))
                for group, launchers in zip(groups, own.values(), strict=True):
                    group.take(functools.partial(_descendants, launchers))
        except OSError:  # one of them is another user's
            stack.close()
            groups = []
        every: Sequence[Stopper] = groups or [Signals(launchers) for launchers in own.values()]
        yield dict(zip(own, every, strict=True))


@contextlib.contextmanager
def turns(launchers: Sequence["subprocess.Popen[bytes]"], beside: Mapping[int, int]) -> Iterator[None]:
    """Has them take turns while something else is done within; at its end all run on."""
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


def _descendants(launchers: Sequence[int]) -> list[int]:
    return [each for launcher in launchers for each in smaps.descendants(launcher)]


def _send(processes: Sequence[int], number: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, number)
