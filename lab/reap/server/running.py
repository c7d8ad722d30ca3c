"""Servers that were started: waiting until they are ready, loading them, stopping them."""

import contextlib
import os
import secrets
import select
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from reap.base import units
from reap.base.errors import ReapError
from reap.base.text import signal_name
from reap.launch import slices, spawn, together, wrappers
from reap.launch.process import smaps
from reap.launch.records import Launch, Loaded, LoadLatency, Outcome
from reap.server import generators, ready
from reap.server.records import Served, Service
from reap.server.usage import Usage, usage

_LOOK = 0.01
"""Seconds between two looks whether a server is ready."""
GRACE = 5.0
"""Seconds that servers get to end after their signal."""
_SETTLES = 0.2
"""Seconds in which a server that broke its load is seen to have ended."""
_BUSY_IDLE = 0.02
"""Cores that an idle server uses, from which on that is said."""
_END_TREE = signal.SIGRTMIN
"""Has a launcher end all that it runs."""
_OUTPUT = "output"
"""What a server or a load has written, where that is to be read."""
_MARK = "REAP_SERVER"
"""A variable by which what a server leaves behind is found: a daemon leaves its process tree."""


class Running:
    """A server that was started."""

    def __init__(
        self, service: Service, prepared: spawn.Prepared, launcher: spawn.Launcher, scratch: Path
    ) -> None:
        self.service = service
        self.scratch = scratch
        self.name = wrappers.name(service.server.argv)
        self.launcher = launcher
        self.pid = 0
        self.pidfd = -1
        """Of the process that the server's command has become; readable when it has ended."""
        self.failure = ""
        self.ended = ""
        """When it ended by itself, in words."""
        self.load: Outcome | None = None
        """What came of the latest load, as long as none has failed."""
        self.requests = 0
        """Of that load."""
        self.latency: LoadLatency | None = None
        """Of that load, where it is an open loop."""
        self.after: Usage | None = None
        """Cost when that load had ended. What follows is of a server that is idle, and waits for others."""
        self.busiest = ""
        self.killed = False
        self.idle = 0.0
        """CPU time without a load, in cores."""
        self.loading_ns = 0
        """Wall time of its measured loads with what is between them."""
        self._prepared = prepared
        self._loads: list[Loaded] = []
        self._minor_faults = self._major_faults = 0

    @property
    def lives(self) -> bool:
        """Whether it can be loaded."""
        return not self.failure and not self.ended

    def has_ended(self, within: float = 0.0) -> bool:
        """Whether its first process has ended, or does so soon."""
        return readable(self.pidfd, within)

    def usage(self) -> Usage:
        """Cost so far, without what a preload spent on memory ahead of the server."""
        used, ahead = usage(self.launcher.process.pid), self._prepared.spent_ahead()
        return msgspec.structs.replace(
            used, cpu_ns=used.cpu_ns - ahead.cpu_ns, minor_faults=used.minor_faults - ahead.faults
        )

    def add(self, before: Usage) -> None:
        """Adds the latest load to those that are measured; `before` was read before it."""
        after = self.after
        if self.load is None or after is None or not self.lives:
            return
        cpu_ns = after.cpu_ns - before.cpu_ns
        self._loads.append(
            Loaded(cpu_ns=cpu_ns, wall_ns=self.load.wall_ns, requests=self.requests, latency=self.latency)
        )
        self._minor_faults += after.minor_faults - before.minor_faults
        self._major_faults += after.major_faults - before.major_faults

    def served(self) -> Served:
        """Outcome of the server, which has ended."""
        outcome = self._prepared.outcome(self.launcher.result())
        failure = self.failure
        if self.ended:
            failure = f"{self.name} {_how(outcome)} {self.ended}"
            if outcome.status == 0:
                failure += "; if it goes into the background by itself, have it stay in the foreground"
        if failure:
            said = outcome.stderr_tail.strip()[-500:]
            return Served(outcome=outcome, failure=failure + (f"; the server said: {said}" if said else ""))
        note = self._note()
        if not self._loads:
            return Served(outcome=outcome, note=note)
        heap = outcome.heap
        if self.busiest in heap:
            heap = {self.busiest: heap[self.busiest], **heap}
        measured = Outcome(
            exit_code=0,
            wall_ns=sum(each.wall_ns for each in self._loads),
            user_ns=sum(each.cpu_ns for each in self._loads),
            peak_resident=outcome.peak_resident,
            mean_resident=outcome.mean_resident,
            settled_resident=outcome.settled_resident,
            resident_over_time=outcome.resident_over_time,
            minor_faults=self._minor_faults,
            major_faults=self._major_faults,
            loads=self._loads,
            loading_ns=self.loading_ns,
            stderr_tail=outcome.stderr_tail,
            malloc_provider=next(iter(heap.values()), {}).get("malloc", ""),
            heap=heap,
        )
        return Served(outcome=measured, note=note)

    def _note(self) -> str:
        if self.killed:
            name = signal.Signals(self.service.stop).name
            return f"{self.name} did not end within {GRACE:g} s of {name}, and was killed"
        if self.idle > _BUSY_IDLE:
            return (
                f"{self.name} used {units.percent(self.idle)} of a core without a load: CPU time per request "
                "contains such work"
            )
        return ""


_BEFORE = "before it was ready"
_DURING = "during the load"


@contextlib.contextmanager
def started(service: Service, core: int | None, mark: str) -> Iterator[Running]:
    """A server that is started on a core; `mark` is from `nothing_left`. Throws ReapError."""
    port = service.ready.port
    if port and ready.accepts(port):
        raise ReapError(
            f"port {port} is in use before {wrappers.name(service.server.argv)} is started",
            "stop what listens there, or write {port} for a free port",
        )
    launch = spawn.pinned(service.server, core)
    launch = msgspec.structs.replace(launch, environment={**launch.environment, _MARK: mark})
    with tempfile.TemporaryDirectory(prefix="reap-") as folder:
        scratch = Path(folder)
        if service.ready.line:
            launch = msgspec.structs.replace(launch, keep=str(scratch / _OUTPUT))
        prepared = spawn.Prepared(launch, scratch)
        with spawn.started(prepared.command, launch, apart=True) as launcher:
            running = Running(service, prepared, launcher, scratch)
            try:
                yield running
            finally:
                if running.pidfd >= 0:
                    os.close(running.pidfd)


def readable(descriptor: int, within: float = 0.0) -> bool:
    """Whether it can be read now, or soon."""
    return bool(select.select([descriptor], [], [], within)[0])


def await_ready(servers: Sequence[Running]) -> None:
    """Until each is ready or has failed. Servers that start at once on one core get the time of all."""
    begun = time.monotonic()
    for server in servers:
        service = server.service
        within = service.ready_within * len(servers)
        while True:
            if server.launcher.process.poll() is not None:
                server.ended = _BEFORE
                break
            if ready.is_ready(service.ready, server.scratch / _OUTPUT):
                _hold(server)
                break
            if time.monotonic() > begun + within:
                why = ready.missing(service.ready)
                server.failure = f"{server.name} was not ready within {within:g} s ({why})"
                break
            time.sleep(_LOOK)


def _hold(server: Running) -> None:
    """Keeps hold of the process that the command has become. A daemon's has ended when it is ready."""
    tree = smaps.descendants(server.launcher.process.pid)
    try:
        server.pid = tree[0]
        server.pidfd = os.pidfd_open(server.pid)
    except (IndexError, ProcessLookupError):
        server.ended = _BEFORE
        return
    if server.has_ended(_LOOK):
        server.ended = _BEFORE


def load(servers: Sequence[Running], core: int | None, enough: int = -1, *, turns: bool = False) -> None:
    """Runs the loads of all that live, at the same time, until each has ended or its server has.

    With `turns` one server at a time runs, with its load, as of `launch.slices`. Or until `enough` can be
    read, a descriptor: what has not ended then is ended, and is no failure.
    """
    with contextlib.ExitStack() as stack:
        waiting = []
        living = [each for each in servers if each.lives]
        gate = stack.enter_context(together.Gate())
        for server in living:
            launch = together.held(server.service.load, len(living), core, gate)
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reap-")))
            launch = msgspec.structs.replace(launch, keep=str(scratch / _OUTPUT))
            prepared = spawn.Prepared(launch, scratch)
            launcher = stack.enter_context(spawn.started(prepared.command, launch, gate.passed, apart=True))
            done = os.pidfd_open(launcher.process.pid)
            stack.callback(os.close, done)
            waiting.append((server, prepared, launcher, done))
        gate.open(len(waiting))
        if turns and len(waiting) > 1:
            served = {launcher.process.pid: server.launcher.process.pid for server, _, launcher, _ in waiting}
            stack.enter_context(slices.turns([launcher.process for _, _, launcher, _ in waiting], served))
        while waiting:
            held = [fd for server, _, _, done in waiting for fd in (server.pidfd, done)]
            fired = set(select.select([*held, *([enough] if enough >= 0 else [])], [], [])[0])
            for each in [each for each in waiting if fired & {each[0].pidfd, each[3], enough}]:
                waiting.remove(each)
                server, prepared, launcher, done = each
                server.after = server.usage()
                if done not in fired:
                    launcher.process.send_signal(_END_TREE)
                outcome = prepared.outcome(launcher.result())
                server.load = outcome
                if done not in fired and enough in fired:
                    continue
                if server.has_ended(_SETTLES if outcome.status else 0.0):
                    server.ended = _DURING
                elif outcome.status or outcome.timed_out:
                    server.failure = _load_failure(server.service.load, outcome)
                else:
                    _count(server, Path(prepared.launch.keep))


def _count(server: Running, output: Path) -> None:
    """Takes the requests of a load that ended well, from the user or its output, and their latency."""
    command = server.service.load.argv
    found = generators.counted(command, output.read_text(errors="replace"))
    server.requests = server.service.requests or (found.requests if found else 0)
    server.latency = found.latency if found else None
    if found is not None and found.failed:
        server.failure = (
            f"{found.failed} of {found.requests} requests of the load {wrappers.name(command)} failed"
        )


def _load_failure(load: Launch, outcome: Outcome) -> str:
    said = outcome.stderr_tail.strip()[-500:]
    how = f"did not end within {load.timeout:g} s" if outcome.timed_out else _how(outcome)
    return f"the load {wrappers.name(load.argv)} {how}" + (f"; it said: {said}" if said else "")


def stop(servers: Sequence[Running]) -> None:
    """Has all that run end: by their signal, and after the grace period by force."""
    for server in servers:
        if server.pidfd >= 0 and not server.has_ended():
            # A launcher makes what it captures the leader of a process group.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, server.service.stop)
    due = time.monotonic() + GRACE
    for server in servers:
        process = server.launcher.process
        if server.pidfd >= 0 and server.has_ended(max(0.0, due - time.monotonic())):
            continue
        if process.poll() is None:
            server.killed = not server.failure
            process.send_signal(_END_TREE)


@contextlib.contextmanager
def nothing_left() -> Iterator[str]:
    """Around servers: a word for their environment, by which what they leave behind is found and killed."""
    word = secrets.token_hex(8)
    try:
        yield word
    finally:
        marked = f"{_MARK}={word}".encode()
        for found in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if marked in found.read_bytes().split(b"\0"):
                    os.kill(int(found.parent.name), signal.SIGKILL)


def _how(outcome: Outcome) -> str:
    if outcome.signal:
        return f"was ended by {signal_name(outcome.signal)}"
    return f"ended with exit status {outcome.exit_code}"
