"""The experiments of a full study side by side, each on a core of its own: `--on local:N`.

A process for each core measures one workload after another, from its warm-ups to its sampled runs. What it
measured is in the experiment's folder, where the study finds it. Of a process that is killed nothing is lost
but the run that was going on, and one whose study was killed stops.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import NamedTuple

from reap.api import ExitCode, InterruptedRunError, Listener
from reap.api import host_memory as memory
from reap_studies.study import measuring
from reap_studies.study.measuring import Work

Measure = Callable[[Work, int, Listener], object]


class Cores:
    """So many cores of this machine, or as many as there are."""

    def __init__(self, count: int, listener: Listener, measure: Measure = measuring.measure) -> None:
        """`measure` is done in other processes, and so must be a module's."""
        self._free = sorted(os.sched_getaffinity(0))[:count]
        self.cores = len(self._free)
        self._listener = listener
        self._measure = measure

    def run(self, wanted: Mapping[str, Work], rounds: int) -> None:
        """Has so many rounds of each experiment, by its name, run. Throws InterruptedRunError."""
        context = multiprocessing.get_context("spawn")
        waiting, free = deque(wanted.items()), list(self._free)
        running: dict[Connection, _Running] = {}
        try:
            while waiting or running:
                while waiting and free:
                    (name, work), core = waiting.popleft(), free.pop(0)
                    self._listener.say(f"{name} on core {core}")
                    place = _Place(core=core, of=self.cores)
                    one = _Running(context, name, work, place, rounds, self._measure)
                    running[one.line] = one
                for line in wait(list(running)):
                    assert isinstance(line, Connection)  # noqa: S101 - of `running`
                    try:
                        self._listener.say(f"{running[line].name}: {line.recv()}")
                    except EOFError:
                        free.append(running.pop(line).ended())
        except KeyboardInterrupt:
            raise InterruptedRunError("stopped", "resume it", ExitCode.SIGNALLED + 2) from None
        finally:
            _stop(running.values())


def _stop(running: Collection["_Running"]) -> None:
    """As Ctrl-C does, which they do not hear themselves: all of them, before the next Ctrl-C is heard."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    for one in running:
        one.interrupt()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    for one in running:
        one.ended()


class _Place(NamedTuple):
    """A core, and how many there are: a workload has as large a share of the memory."""

    core: int
    of: int


class _Running:
    """A process that measures one workload."""

    def __init__(
        self, context: SpawnContext, name: str, work: Work, place: _Place, rounds: int, measure: Measure
    ) -> None:
        self.name = name
        self._core = place.core
        self.line, theirs = context.Pipe(duplex=False)
        words = (work, place, rounds, theirs, measure)
        # A daemon, so that one that was not stopped, as two Ctrl-C at once may have it, ends with the study.
        self._process: SpawnProcess = context.Process(target=_serve, args=words, daemon=True)
        self._process.start()
        theirs.close()

    def ended(self) -> int:
        """Its core, which is free."""
        self._process.join()
        self.line.close()
        return self._core

    def interrupt(self) -> None:
        """Has it stop, as soon as it can."""
        if self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGINT)


class _Teller(Listener):
    def __init__(self, line: Connection) -> None:
        self._line = line

    def say(self, text: str) -> None:
        with contextlib.suppress(OSError):  # whom it told was killed
            self._line.send(text)


def _serve(work: Work, place: _Place, rounds: int, line: Connection, measure: Measure) -> None:
    """Runs in a process of its own: measures a workload on a core."""
    os.setpgrp()  # a Ctrl-C comes to it once, by the study
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job ignores
    os.sched_setaffinity(0, {place.core})
    memory.share(place.of)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    with contextlib.suppress(InterruptedRunError, KeyboardInterrupt):
        measure(work, rounds, _Teller(line))


def _stop_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGINT)
