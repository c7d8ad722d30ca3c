"""Has workers run what is left of a sweep, and keeps each block as it ends.

A block is given to one worker at a time. That of a worker that is lost is given to another of its kind; what
comes of it twice is kept once. Blocks go cell by cell to whichever worker is free, so that the rounds of a
cell are spread over the machines of a kind.
"""

import contextlib
import fnmatch
import glob
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reap import __version__
from reap.base import units
from reap.base.errors import ExitCode
from reap.base.records import decode
from reap.experiment.runner import InterruptedRunError, Listener
from reap.launch.host import machine
from reap.sweep import cluster, plan
from reap.sweep.folder import Blocks, SweepFolder
from reap.sweep.places import Places
from reap.sweep.pool import Ended, Event, Joined, Left, Pool, Refused
from reap.sweep.records import Block, Facts, Failed, Kind, Sweep, SweepCell
from reap.sweep.worker import Work

_LOSSES = 3
"""Workers that a block may take with it: then it is not run any more."""
_STEP = 1.0
"""Seconds until it is looked whether anything can still happen."""
_SKEW = 5.0
"""Seconds by which a worker's clock may differ."""
_AS_HERE = "as here"
"""The kind of machine that this one is."""


@dataclass
class Course:
    """Course of a sweep, beside its blocks."""

    planned: int = 0
    """Blocks of the kinds of machine that were there."""
    repeated: int = 0
    """Results that were there already."""
    lost: int = 0
    """Workers that left while they had blocks."""
    problems: list[str] = field(default_factory=list)
    """What was not run, and why: a sentence each, with the worker and the cell."""
    notes: list[str] = field(default_factory=list)


@dataclass
class _Worker:
    facts: Facts
    kind: str
    running: dict[str, Block] = field(default_factory=dict)
    cannot: set[str] = field(default_factory=set)
    """Cells that it could not run."""


class _Rounds:
    """Rounds of a cell that no worker of a kind has: a block is made when a worker takes it."""

    def __init__(self, cell: SweepCell, kind: str, ended: Blocks) -> None:
        def untouched() -> Iterator[Block]:
            every = (Block(cell=cell.name, kind=kind, round=number) for number in range(cell.rounds))
            return (block for block in every if block not in ended)

        self._count = sum(1 for _ in untouched())
        self._untouched = untouched()
        self._returned: list[Block] = []

    def __len__(self) -> int:
        """Number of these rounds."""
        return self._count

    def take(self) -> Block:
        """One of them: of those that came back, if there are any."""
        self._count -= 1
        return self._returned.pop() if self._returned else next(self._untouched)

    def give_back(self, block: Block) -> None:
        """A worker could not run it, or is lost."""
        self._count += 1
        self._returned.append(block)


class Driver:
    """Gives the blocks of a sweep to the workers of a pool."""

    def __init__(self, folder: SweepFolder, pool: Pool, listener: Listener) -> None:
        self.course = Course()
        self._folder = folder
        self._sweep = folder.sweep
        self._pool = pool
        self._listener = listener
        self._cells = {cell.name: msgspec.json.encode(cell) for cell in self._sweep.cells}
        self._workers: dict[str, _Worker] = {}
        self._left: dict[str, dict[str, _Rounds]] = {}
        """By kind and cell."""
        self._losses: Counter[str] = Counter()
        self._since = time.monotonic()

    def run(self) -> Course:
        """Runs what is left. Throws ReapError; `InterruptedRunError` on Ctrl-C."""
        try:
            while not self._over():
                event = self._pool.next(_STEP)
                if event is not None:
                    self._since = time.monotonic()
                    self._take(event)
        except KeyboardInterrupt:
            raise InterruptedRunError(
                f"stopped; {units.many(len(self._folder.ended), 'block')} that ended are kept in "
                f"{self._folder.path}",
                f"go on with: {self._folder.resume_command}",
                ExitCode.SIGNALLED + 2,
            ) from None
        self._conclude()
        return self.course

    def _over(self) -> bool:
        if any(each.running for each in self._workers.values()) or not self._pool.settled():
            return False
        if self._workers and not any(self._any_left(kind) for kind in self._left):
            return True
        return time.monotonic() - self._since >= self._pool.patience

    def _any_left(self, kind: str) -> bool:
        return any(self._left[kind].values())

    def _take(self, event: Event) -> None:
        match event:
            case Joined(address, facts, skew):
                self._meet(address, facts, skew)
            case Left(address):
                self._lose(address)
            case Refused(worker, problem, hint):
                self.course.problems.append(f"{worker} is not used: {problem} ({hint})")
            case Ended(address, block, run, line):
                self._keep(address, block, line, run=run)

    def _meet(self, address: str, facts: Facts, skew: float) -> None:
        if abs(skew) > _SKEW:
            far = f"{units.duration(abs(skew))} {'ahead' if skew > 0 else 'behind'}"
            self._note(f"the clock of {facts.worker} is {far}: the start times of its runs are wrong by that")
        kind = kind_of(self._sweep, facts)
        if not kind:
            self._note(f"{facts.worker} is not used: it is of no kind that the plan names ({facts.kind})")
            return
        if kind not in self._left:
            self._left[kind] = self._open(kind)
        self._workers[address] = _Worker(facts, kind)
        self._fill(address)

    def _open(self, kind: str) -> dict[str, _Rounds]:
        self.course.planned += sum(cell.rounds for cell in self._sweep.cells)
        return {cell.name: _Rounds(cell, kind, self._folder.ended) for cell in self._sweep.cells}

    def _fill(self, address: str) -> None:
        worker = self._workers[address]
        for cell, left in self._left[worker.kind].items():
            if cell in worker.cannot:
                continue
            while left and len(worker.running) < self._pool.depth:
                block = left.take()
                worker.running[block.id] = block
                self._pool.submit(address, self._cells[cell], block)

    def _lose(self, address: str) -> None:
        worker = self._workers.pop(address, None)
        if worker is None:
            return
        if worker.running:
            self.course.lost += 1
        for block in worker.running.values():
            self._losses[block.id] += 1
            if self._losses[block.id] < _LOSSES:
                self._left[block.kind][block.cell].give_back(block)
                continue
            self.course.problems.append(
                f"round {block.round + 1} of cell {block.cell} was lost with {_LOSSES} workers, the last of "
                f"them {worker.facts.worker}, and is not run again"
            )
        self._refill(worker.kind)

    def _keep(self, address: str, block: Block, line: bytes, *, run: bool) -> None:
        worker = self._workers.get(address)
        if worker is not None:
            worker.running.pop(block.id, None)
        if run:
            if not self._folder.append(block, line):
                self.course.repeated += 1
            done = len(self._folder.ended)
            self._listener.progress(done, max(done, self.course.planned), block.cell)
        elif worker is not None:
            self._refuse(worker, block, decode(line, Failed))
        if worker is not None:
            self._fill(address)

    def _refuse(self, worker: _Worker, block: Block, failed: Failed) -> None:
        """The worker is given no more blocks of the cell, or of any; others may."""
        name = worker.facts.worker
        if block.cell not in worker.cannot:
            worker.cannot.update(self._cells if failed.every_cell else [block.cell])
            self.course.problems.append(f"{name}, cell {block.cell}: {failed.problem} ({failed.hint})")
        self._left[block.kind][block.cell].give_back(block)
        self._refill(block.kind)

    def _refill(self, kind: str) -> None:
        for address, worker in self._workers.items():
            if worker.kind == kind and len(worker.running) < self._pool.depth:
                self._fill(address)

    def _conclude(self) -> None:
        if not self._left:
            self.course.problems.append("no worker joined that could be used: nothing was run")
        for kind, cells in self._left.items():
            for cell, left in cells.items():
                if left:
                    blocks = units.many(len(left), "block")
                    self.course.problems.append(
                        f"{blocks} of cell {cell} on {kind}: no worker is left for them"
                    )
        for each in self._sweep.machines:
            if each.name not in self._left:
                self.course.problems.append(f"no worker is of the kind {each.name}: nothing was run there")

    def _note(self, text: str) -> None:
        self.course.notes.append(text)
        self._listener.say(text)


def kind_of(sweep: Sweep, facts: Facts) -> str:
    """The kind of machine that a worker is; empty where the plan names kinds, and this is of none."""
    if not sweep.machines:
        return facts.kind
    return next((each.name for each in sweep.machines if _matches(each, facts)), "")


def _matches(kind: Kind, facts: Facts) -> bool:
    here = facts.machine
    pairs: Sequence[tuple[str, str]] = (
        (kind.host, facts.host),
        (kind.processor, here.processor),
        (kind.kernel, here.kernel),
        (kind.libc, here.libc),
        (kind.huge_pages, here.huge_pages),
    )
    return all(fnmatch.fnmatchcase(word, pattern) for pattern, word in pairs)


def run_rounds(
    path: Path,
    cells: Sequence[SweepCell],
    ended: Mapping[str, Iterable[int]],
    *,
    places: Places,
    work: Work,
    listener: Listener,
) -> list[str]:
    """Run the rounds of each cell that have not ended, for another package; returns what went wrong.

    Workers are machines of the same kind as this one: processor, kernel, C library, huge pages.

    `path` is the folder of the sweep, which is resumed if it exists. `ended` has the numbers of rounds that
    are kept elsewhere already, by the name of the cell. Workers call `work`, which they import by its name.
    Throws InterruptedRunError; what ended is kept.
    """
    with contextlib.ExitStack() as stack:
        if path.exists():
            opened = stack.enter_context(SweepFolder.resume(path))
        else:
            opened = stack.enter_context(SweepFolder.create(path, _sweep(cells)))
        for name, numbers in ended.items():
            for number in numbers:
                opened.ended.add(Block(cell=name, kind=_AS_HERE, round=number))
        client, count = stack.enter_context(places.client())
        made = cluster.Dask(client, opened.sweep, count, shared=bool(places.local), work=work)
        pool = stack.enter_context(contextlib.closing(made))
        return list(Driver(opened, pool, listener).run().problems)


def _sweep(cells: Sequence[SweepCell]) -> Sweep:
    here = machine.describe()
    kind = Kind(
        name=_AS_HERE,
        processor=glob.escape(here.processor),
        kernel=glob.escape(here.kernel),
        libc=glob.escape(here.libc),
        huge_pages=glob.escape(here.huge_pages),
    )
    return Sweep(
        schema=plan.SCHEMA,
        reap_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        directory="/",
        machines=[kind],
        cells=list(cells),
    )
