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
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.base.errors import ReapError
from reap.launch import slices, spawn
from reap.launch.records import Launch, Outcome


def run(launches: Sequence[Launch], core: int | None) -> list[Outcome]:
    """Runs all on one core to their ends, or without one in turns on all; what each cost, in the order given.

    Wall time of one that took turns is that of its own turns.
    All are started and held before they execute, then released at once; every timeout is that of the program
    alone, times their number. Throws what `spawn.run` throws: then none is left running.
    """
    with contextlib.ExitStack() as stack:
        gate = stack.enter_context(Gate())
        waiting = []
        for launch in launches:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reap-")))
            prepared = spawn.Prepared(held(launch, len(launches), core, gate), scratch)
            launcher = stack.enter_context(spawn.started(prepared.command, launch, gate.passed))
            waiting.append((prepared, launcher))
        gate.open(len(waiting))
        ran = slices.take_turns([launcher.process for _, launcher in waiting]) if core is None else None
        outcomes = [prepared.outcome(launcher.result()) for prepared, launcher in waiting]
    return outcomes if ran is None else list(map(_in_turns, outcomes, ran))


def _in_turns(outcome: Outcome, wall_ns: int) -> Outcome:
    return msgspec.structs.replace(outcome, wall_ns=wall_ns)


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
    """The same, one of so many behind a gate, on a core; its timeout is for all of them together."""
    announce, start = gate.passed
    pinned = spawn.pinned(launch, core)
    return msgspec.structs.replace(
        pinned,
        options=[*pinned.options, "--ready-fd", str(announce), "--start-fd", str(start)],
        timeout=launch.timeout * number if launch.timeout is not None else None,
    )
