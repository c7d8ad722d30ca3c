"""One run of an experiment's cell: prepared, started, cleaned up after, and kept at once."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.text import signal_name
from reap.experiment import naming
from reap.experiment.folder import Folder
from reap.experiment.records import Cell, Pairing, Run
from reap.experiment.spec import Spec
from reap.experiment.starter import Started, Starter
from reap.launch import hung, spawn, wrappers
from reap.launch.host import load, memory
from reap.launch.records import Launch, Outcome
from reap.server import ready
from reap.server.records import Server, Service
from reap.server.serve import loaded_once, serve
from reap.server.service import load_of, service_of

_LAST = 200
"""Characters of the last line of a failed program that are told at most."""


class Once:
    """Runs cells of the experiment in a folder. What was run before a kill is not run again."""

    def __init__(self, folder: Folder, starter: Starter | None = None) -> None:
        self._folder = folder
        self._spec = folder.spec
        self._starter = starter or Starter(folder)
        self.done = {(run.warmup, run.cell.key()): run for run in folder.runs}
        """What had ended when the folder was opened."""

    def run(self, cell: Cell, *, warmup: bool) -> Run:
        """Runs the cell and keeps what came of it; in a warm-up also who serves malloc. Throws ReapError."""
        known = self.done.get((warmup, cell.key()))
        if known is not None:
            return known
        started = time.time()
        begun, load_since = time.monotonic(), load.watch()
        with prepared(self._spec, naming.name(cell, "w" if warmup else "r")), self._resumable():
            ended = self._starter.start(cell, probe=warmup)
        seconds = time.monotonic() - begun
        return self._keep(cell, ended, started, seconds, load_since(), warmup=warmup)

    def run_together(self, cells: Sequence[Cell], core: int | None, pairing: Pairing) -> list[Run]:
        """Runs the cells of a round at the same time on one core, or without one in turns, and keeps them.

        A round of which a kill has left some runs is run again as a whole: the later ones count. Throws
        ReapError.
        """
        known = [self.done.get((False, cell.key())) for cell in cells]
        if all(known):
            return [run for run in known if run]
        started = time.time()
        begun, load_since = time.monotonic(), load.watch()
        with contextlib.ExitStack() as stack:
            for cell in cells:
                stack.enter_context(prepared(self._spec, naming.name(cell)))
            stack.enter_context(self._resumable())
            kills = memory.out_of_memory_kills()
            ended = self._starter.start_together(cells, core, pairing)
        if memory.out_of_memory_kills() > kills:
            ended = [_explained(each) for each in ended]
        share = (time.monotonic() - begun) / len(cells)
        others = load_since()
        return [
            self._keep(cell, each, started, share, others, together=True, in_turns=core is None)
            for cell, each in zip(cells, ended, strict=True)
        ]

    def alone(self, cell: Cell) -> Launch:
        """Launch of the cell's program, with `{arm}` still in its words."""
        return self._starter.alone(cell)

    def _keep(
        self,
        cell: Cell,
        ended: Started,
        started: float,
        seconds: float,
        others: float | None,
        *,
        warmup: bool = False,
        together: bool = False,
        in_turns: bool = False,
    ) -> Run:
        run = Run(
            cell=cell,
            outcome=ended.outcome,
            order=len(self._folder.runs),
            started=started,
            warmup=warmup,
            together=together,
            in_turns=in_turns,
            seconds=seconds,
            others=others,
            laid=ended.laid,
            samples=ended.samples,
            misses=ended.misses,
        )
        self._folder.append(run)
        return run

    def require_sound(self, outcome: Outcome) -> None:
        """Throws ReapError where the program does not end, or too soon: nothing can be compared with it."""
        name = wrappers.name(self._spec.program.command)
        if outcome.timed_out:
            launch = alone(self._folder)
            raise hung.too_long(
                f"{name}, without any change of allocator,",
                launch,
                {
                    "probe": msgspec.structs.replace(launch, probe=True),
                    "requests": msgspec.structs.replace(launch, requests=True),
                },
                "give it more time with --timeout, or less to do",
                start(self._folder),
            )
        if outcome.signal:
            said = f"; it said: {outcome.stderr_tail.strip()[-500:]}" if outcome.stderr_tail.strip() else ""
            raise ReapError(
                f"{name} was ended by {signal_name(outcome.signal)}, without any change of allocator{said}",
                "make it run by itself first",
                outcome.status,
            )
        wanted = {self._spec.objective, *(self._spec.tune.objectives if self._spec.tune else [])}
        if wanted & {"settled", "mean"} and outcome.settled_resident is None:
            raise ReapError(
                f"{name} ended before its memory could be sampled",
                "give it more work, or compare its peak: --for peak, or with `reap tune` --for memory",
                ExitCode.FAILED,
            )

    @contextlib.contextmanager
    def _resumable(self) -> Iterator[None]:
        """Adds the resume command to errors: faults of the machine (memory, a full disk) may be temporary."""
        try:
            yield
        except ReapError as error:
            again = f"when that is mended, go on with: {self._folder.resume_command}"
            hint = f"{error.hint}\n  {again}" if error.hint else again
            raise ReapError(error.what, hint, error.code) from error


def _explained(started: Started) -> Started:
    """Adds a reason to a run that was killed in a round in which memory ran out."""
    outcome = started.outcome
    if outcome.signal != signal.SIGKILL:
        return started
    said = f"{outcome.failure}; " if outcome.failure else ""
    why = f"{said}the kernel killed it, for memory ran out with all runs of the round at once"
    return msgspec.structs.replace(
        started,
        outcome=msgspec.structs.replace(outcome, failure=f"{why} (--pairing sequential runs one at a time)"),
    )


def alone(folder: Folder) -> Launch:
    """The experiment's program as its baseline is run, in a run that belongs to no round."""
    spec = folder.spec
    return Launch(
        argv=[word.replace(naming.ARM, naming.ALONE) for word in spec.program.command],
        program=spec.program.path,
        directory=spec.directory,
        environment=spec.environment,
        stdin=folder.stdin,
        timeout=spec.timeout,
    )


def start(folder: Folder) -> Callable[[Launch], Outcome]:
    """Function that runs the program of `alone` to its end; a server is loaded once, and then stopped."""
    server = folder.spec.server
    if server is None:
        return spawn.run
    return lambda launch: loaded_once(service_alone(server, launch, folder.spec.timeout))


def service_alone(server: Server, launch: Launch, timeout: float | None) -> Service:
    """A start of a server, on a free port, that belongs to no round; `timeout` is that of a load."""
    (port,) = ready.free_ports(1)
    own, load = (naming.filled(each, naming.ALONE) for each in (launch, load_of(server, launch, timeout)))
    return service_of(server, own, load, port)


def not_twice(folder: Folder, launch: Launch) -> str:
    """Reason why a server cannot run twice at the same time, by a start of two; empty if it can.

    `launch` is that of its command, with `{arm}` and `{port}` in its words. Throws ReapError.
    """
    server, spec = folder.spec.server, folder.spec
    if server is None:
        return ""
    services = []
    with contextlib.ExitStack() as stack:
        for name, port in zip(naming.TWICE, ready.free_ports(len(naming.TWICE)), strict=True):
            stack.enter_context(prepared(spec, name))
            own, load = (naming.filled(each, name) for each in (launch, load_of(server, launch, None)))
            service = service_of(server, own, load, port)
            services.append(msgspec.structs.replace(service, loads=0, warm_ups=0))
        failures = [each.failure for each in serve(services, None, None) if each.failure]
    return f"two do not run side by side: {' '.join(failures[0].split())[-_LAST:]}" if failures else ""


@contextlib.contextmanager
def prepared(spec: Spec, name: str = naming.ALONE) -> Iterator[None]:
    """Around a run of its program: what the user wants done before and after each. Throws ReapError."""
    _shell("--prepare", spec.prepare.replace(naming.ARM, name), spec.directory)
    yield
    _shell("--cleanup", spec.cleanup.replace(naming.ARM, name), spec.directory)


def _shell(option: str, command: str, directory: str) -> None:
    if not command:
        return
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise ReapError(
            f"the {option} command failed with {done.returncode}: {command}",
            f"it said: {said}" if said else "it said nothing on standard error",
        )


def failure(outcome: Outcome, timeout: float | None) -> str:
    """Description of a crash, a hang or a failed load; empty if the program ended by itself."""
    if outcome.failure:
        return outcome.failure
    if outcome.timed_out:
        return f"the program did not end within {timeout:g} s"
    if outcome.signal:
        return f"the program was ended by {signal_name(outcome.signal)}"
    return ""


def last_words(outcomes: Iterable[Outcome], status: int) -> str:
    """The last line on standard error of a run that ended with this status; empty where that is 0."""
    for outcome in outcomes:
        lines = outcome.stderr_tail.strip().splitlines()  # a progress bar has carriage returns
        if status and outcome.status == status and lines:
            return lines[-1][-_LAST:]
    return ""
