"""Runs programs at the same time on one core: what disturbs one of them disturbs the others as much.

CPU times of runs one after another differ by a tenth and more on a shared machine: other processes, the
frequency and the host's caches change within tenths of seconds, and from core to core. Programs between which
the kernel switches every 4 to 12 ms meet the same disturbance, so the ratio of their CPU times varies by two
or three percent. The idea is duet benchmarking (L. Bulej et al., ICPE 2020), with one core for all.

Wall time of runs that share a core says nothing, and a program of many threads does not run as it would on
several cores.
"""

import contextlib
import os
import selectors
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from reap.base.errors import ReapError
from reap.launch import slices, spawn
from reap.launch.process.settled import Interval
from reap.launch.records import Launch, Outcome


def run(
    launches: Sequence[Launch],
    core: int | None,
    restart: Sequence[bool] = (),
    turn: slices.Turn = slices.TURN,
    near: Sequence[slices.Near] = (),
) -> list[Outcome]:
    """Runs all on one core to their ends, or without one in turns on all; what each cost, in the order given.

    Wall time of one that took turns is that of its own turns, which `turn` and `near` are about. Where
    `restart` says so, one that has ended is restarted while others still run, which so share the core with as
    many to their ends. What is restarted is not measured, and killed with all its children at the end of the
    longest.
    All are started and held before they execute, then released at once; every timeout is that of the program
    alone, times their number. Throws what `spawn.run` throws: then none is left running.
    """
    with contextlib.ExitStack() as stack:
        gate = stack.enter_context(Gate())
        waiting = [
            stack.enter_context(_started(held(launch, len(launches), core, gate), gate.passed))
            for launch in launches
        ]
        gate.open(len(waiting))
        if core is None:
            ran = slices.take_turns([each.launcher.process for each in waiting], turn=turn, near=near)
            return [each.outcome(turns) for each, turns in zip(waiting, ran, strict=True)]
        if not any(restart):
            return [each.outcome() for each in waiting]
        restarted = [
            msgspec.structs.replace(each, options=[*each.options, "--grace-ms", "0"]) if wanted else None
            for each, wanted in zip((spawn.pinned(launch, core) for launch in launches), restart, strict=True)
        ]
        return _with_restarts(waiting, restarted, stack)


class _Running(NamedTuple):
    """A run behind its launcher."""

    prepared: spawn.Prepared
    launcher: spawn.Launcher

    def outcome(self, turns: Sequence[Interval] = ()) -> Outcome:
        """Outcome when it has ended; of a program that took turns, in these."""
        return self.prepared.outcome(self.launcher.result(), turns)


@contextlib.contextmanager
def _started(launch: Launch, passed: Sequence[int] = ()) -> Iterator[_Running]:
    with tempfile.TemporaryDirectory(prefix="reap-") as scratch:
        prepared = spawn.Prepared(launch, Path(scratch))
        with spawn.started(prepared.command, launch, passed) as launcher:
            yield _Running(prepared, launcher)


class _Restart:
    """A further run of a program, which is not measured."""

    def __init__(self, launch: Launch, stack: contextlib.ExitStack) -> None:
        """Starts it; whatever is thrown within `stack` ends it."""
        self._stack = stack.enter_context(contextlib.ExitStack())
        self.launcher = self._stack.enter_context(_started(launch)).launcher
        self._begun = time.monotonic_ns()

    def leave(self, now: int) -> int:
        """Ends it, unless it has ended; how long it has run, in nanoseconds."""
        self.launcher.end()
        self._stack.close()
        return now - self._begun


def _with_restarts(
    running: Sequence[_Running], restarted: Sequence[Launch | None], stack: contextlib.ExitStack
) -> list[Outcome]:
    """Outcomes of all; what is restarted for one of them is so whenever it ends before others."""
    outcomes: dict[int, Outcome] = {}
    restarts: dict[int, _Restart] = {}
    lasted = [0] * len(running)
    with selectors.DefaultSelector() as ends:
        for number, each in enumerate(running):
            ends.register(each.launcher.answer, selectors.EVENT_READ, number)
        while len(outcomes) < len(running):
            for key, _ in ends.select():
                ends.unregister(key.fileobj)
                number = key.data
                if number in outcomes:
                    lasted[number] += restarts.pop(number).leave(time.monotonic_ns())
                else:
                    outcomes[number] = running[number].outcome()
                launch = restarted[number]
                if launch and len(outcomes) < len(running) and not outcomes[number].signal:
                    restarts[number] = _Restart(launch, stack)
                    ends.register(restarts[number].launcher.answer, selectors.EVENT_READ, number)
    end = time.monotonic_ns()
    for number, restart in restarts.items():
        lasted[number] += restart.leave(end)
    return [msgspec.structs.replace(outcomes[number], restarted_ns=ns) for number, ns in enumerate(lasted)]


class Gate(contextlib.AbstractContextManager["Gate"]):
    """Holds launchers until each has its program ready: one pipe to say so, one whose end starts them."""

    def __init__(self) -> None:
        self._ready, announce = os.pipe()
        start, self._release = os.pipe()
        self.passed = [announce, start]
        """What a launcher gets: where it says that it is ready, and what it waits for the end of."""
        self._held = {self._ready, self._release, *self.passed}

    def __exit__(self, *_: object) -> None:
        self._close(*self._held)

    def wait(self, count: int) -> None:
        """Until so many launchers are ready. Throws ReapError where one ends before."""
        self._close(*self.passed)
        for _ in range(count):
            if not os.read(self._ready, 1):
                raise ReapError("a launcher ended before its program was ready", "run `reap doctor`")

    def release(self) -> None:
        """Starts the programs of all launchers, which are ready."""
        self._close(self._release)

    def open(self, count: int) -> None:
        """Releases so many launchers when all are ready. Throws ReapError where one ends before."""
        self.wait(count)
        self.release()

    def _close(self, *descriptors: int) -> None:
        self._held.difference_update(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def held(launch: Launch, number: int, core: int | None, gate: Gate) -> Launch:
    """Launch as one of so many behind a gate, on a core; its timeout is for all of them together."""
    announce, start = gate.passed
    pinned = spawn.pinned(launch, core)
    return msgspec.structs.replace(
        pinned,
        options=[*pinned.options, "--ready-fd", str(announce), "--start-fd", str(start)],
        timeout=launch.timeout * number if launch.timeout is not None else None,
    )
