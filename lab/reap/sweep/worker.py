"""Code that runs on a worker: it describes the machine, and runs one round of a cell at a time.

Called by name through Dask, so that workers need the same Reap; arguments and results are JSON.
"""

import errno
import os
import platform
import shutil
import socket
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

import reap
from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.base import programs
from reap.base.errors import ReapError
from reap.base.files import digest_of
from reap.base.records import decode
from reap.compare.levels import run as levels
from reap.doctor import run as doctor
from reap.experiment import arms
from reap.experiment.folder import Folder
from reap.experiment.runner import InterruptedRunError, Listener, Runner
from reap.experiment.spec import Spec
from reap.experiment.specify import AskedFragment, Conditions, Workload, specify
from reap.launch.host import machine
from reap.launch.litter import level
from reap.sweep import staging
from reap.sweep.records import HERE, Block, Done, Facts, Failed, SweepCell

Work = Callable[[bytes, bytes], tuple[bool, bytes]]
"""Takes a cell and a block. Whether it was run, and then a `Done`, else a `Failed`."""

Ask = Callable[[Sequence[str], str], bytes]
"""Takes names of allocators and what the worker is called. The `Facts`."""

Make = Callable[[SweepCell, Path], Folder]
"""Makes the experiment that a cell is on this machine, in a folder that is its own. Throws ReapError."""

_OPEN = 4
"""Cells whose folders and warm-ups a worker keeps: the least recent of more is closed."""
_DIGITS = 12


def facts(names: Sequence[str], worker: str = HERE) -> bytes:
    """The `Facts` of this machine, with where these allocators come from; takes about two seconds."""
    checks = doctor.examine()
    found = Facts(
        worker=worker,
        host=socket.gethostname(),
        reap_version=reap.__version__,
        architecture=platform.machine(),
        machine=machine.describe(),
        allocators={name: _origin(name) for name in names if "=" not in name},
        doctor=[f"{each.name}: {each.says}" for each in checks if each.state == "poor"],
        unfit="; ".join(f"{each.name}: {each.says}" for each in checks if each.state == "bad"),
        clock=time.time(),
    )
    return msgspec.json.encode(found)


def work(cell: bytes, block: bytes) -> tuple[bool, bytes]:
    """Runs a block of a plan; what a user can mend is a `Failed`, and no exception."""
    return perform(cell, block, _made)


def perform(cell: bytes, block: bytes, make: Make) -> tuple[bool, bytes]:
    """Runs a block, as `work()` does, of a cell whose experiment `make` makes."""
    which = decode(block, Block)
    with _LOCK:
        try:
            return True, msgspec.json.encode(_session(cell, make).done(which))
        except InterruptedRunError:
            raise KeyboardInterrupt from None
        except (ReapError, OSError) as error:
            failed = _failed(which, error)
        _close(cell)
    return False, msgspec.json.encode(failed)


def _failed(block: Block, error: ReapError | OSError) -> Failed:
    """Problem, and what to do there; for a full disk one text, whatever could not be written."""
    if isinstance(error.__cause__, ReapError):
        error = error.__cause__  # without a command that resumes the worker's own experiment
    cause = error.__cause__ if isinstance(error, ReapError) else error
    full = ""
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
        full = os.strerror(cause.errno)
    if full:
        problem = f"{tempfile.gettempdir()}: {full}"
        hint = "free some space there, or set TMPDIR for the worker"
    elif isinstance(error, ReapError):
        problem, hint = error.what, error.hint
    else:
        problem = f"{tempfile.gettempdir()}: {error.strerror or error}"
        hint = "run `reap doctor` there"
    worker = _FACTS.worker if _FACTS else HERE
    return Failed(block=block, worker=worker, problem=problem, hint=hint, every_cell=bool(full))


def introduce(known: bytes) -> None:
    """Gives this worker its own facts, which go with every block that it runs."""
    global _FACTS  # noqa: PLW0603 - a worker is a process
    _FACTS = decode(known, Facts)


class _Session:
    """A cell on this machine: its folder, its warm-ups, and how its rounds are paired."""

    def __init__(self, cell: SweepCell, make: Make) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="reap-sweep-"))
        try:
            self._folder = make(cell, self._place)
        except BaseException:
            shutil.rmtree(self._place, ignore_errors=True)
            raise
        try:
            spec = self._folder.spec
            if spec.fragment is not None:
                self._runner, _ = levels.prepared(self._folder, Listener())
            else:
                self._runner = Runner(self._folder, Listener())
            self._runner.begin()
        except BaseException:
            self.close()
            raise

    def done(self, block: Block) -> Done:
        """Runs a round. Throws ReapError."""
        assert _FACTS is not None  # noqa: S101 - introduced before its first block
        runs = self._runner.one_round(block.round)
        spec = self._folder.spec
        return Done(
            block=block,
            facts=_FACTS,
            runs=runs,
            dropped={
                arms.label(spec, arm): self._runner.dropped[arm.arm()]
                for arm in arms.arms(spec)
                if arm.arm() in self._runner.dropped
            },
            pairing=self._runner.pairing,
            notes=self._runner.notes,
        )

    def close(self) -> None:
        """Removes all that it kept."""
        self._folder.close()
        shutil.rmtree(self._place, ignore_errors=True)


_LOCK = threading.Lock()
_SESSIONS: OrderedDict[bytes, _Session] = OrderedDict()
_FACTS: Facts | None = None


def _session(cell: bytes, make: Make) -> _Session:
    if cell in _SESSIONS:
        _SESSIONS.move_to_end(cell)
        return _SESSIONS[cell]
    while len(_SESSIONS) >= _OPEN:
        _close(next(iter(_SESSIONS)))
    _SESSIONS[cell] = _Session(decode(cell, SweepCell), make)
    return _SESSIONS[cell]


def _close(cell: bytes) -> None:
    if (session := _SESSIONS.pop(cell, None)) is not None:
        session.close()


def close() -> None:
    """Removes what this process keeps of every cell."""
    with _LOCK:
        for cell in list(_SESSIONS):
            _close(cell)


def _made(cell: SweepCell, place: Path) -> Folder:
    """The program of the cell in a copy of the plan's folder."""
    work = place / "work"
    work.mkdir()
    staging.lay_out(cell.files, work)
    return Folder.create(place / "runs", _specified(cell, work))


def _specified(cell: SweepCell, work: Path) -> Spec:
    """The experiment that the cell is on this machine. Throws ReapError."""
    program, command, directory, environment = cell.program, cell.program.command, str(work), {}
    if program.card:
        ready = programs.make(program.card, program.variant, scale=program.scale)
        command, directory, environment = ready.argv, ready.directory, ready.environment
    asked = AskedFragment(levels=level.parse(",".join(cell.levels)), controls=False) if cell.levels else None
    return specify(
        command,
        catalog.parse(",".join(_placed(word, work) for word in cell.allocators)),
        baseline=cell.allocators[0].partition("=")[0],
        workload=Workload(
            name=cell.name, directory=directory, environment={**environment, **cell.environment}
        ),
        conditions=Conditions(
            warm_ups=cell.warm_ups,
            runs=cell.rounds,
            worth=cell.worth,
            timeout=cell.timeout,
            seed=cell.seed,
            pairing="auto",
        ),
        fragmented=asked,
    )


def _placed(word: str, work: Path) -> str:
    """An allocator of the plan, with the file where it was laid out."""
    name, given, path = word.partition("=")
    return f"{name}={work / path}" if given else word


def _origin(name: str) -> str:
    found = catalog.look(name)
    if not isinstance(found, Allocator):
        return "not installed"
    origin = catalog.with_package(found).origin
    if not found.library:
        return origin
    return f"{origin}, {digest_of(Path(found.library))[:_DIGITS]}"
