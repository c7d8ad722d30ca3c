"""Pools in which blocks run: what a driver asks of workers, and the one worker that is this process."""

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

import reap
from reap.base.records import decode
from reap.sweep import staging, worker
from reap.sweep.records import HERE, Block, Facts, Sweep
from reap.sweep.worker import Ask, Work


@dataclass(frozen=True)
class Joined:
    """A worker that has all files of the plan and may be given blocks."""

    address: str
    facts: Facts
    skew: float = 0.0
    """Seconds by which its clock is ahead."""


@dataclass(frozen=True)
class Left:
    """A worker that is gone, and its blocks with it."""

    address: str


@dataclass(frozen=True)
class Refused:
    """A worker that is not used, and why."""

    worker: str
    problem: str
    hint: str = ""


@dataclass(frozen=True)
class Ended:
    """Result of a block: whether it was run, and then the JSON of a `Done`, else of a `Failed`."""

    address: str
    block: Block
    run: bool
    line: bytes


Event = Joined | Left | Refused | Ended


class Pool(Protocol):
    """Workers, as a driver sees them."""

    depth: int
    """Blocks that a worker is given at once: one runs, the others wait there."""
    patience: float
    """Seconds to wait for another worker while none is left that can run a block."""

    def submit(self, address: str, cell: bytes, block: Block) -> None:
        """Gives a block to a worker that has joined."""

    def next(self, seconds: float) -> Event | None:
        """Next event; None if there is none for `seconds`."""

    def settled(self) -> bool:
        """Whether all workers that were asked for have joined or will not."""


@dataclass
class Here:
    """This process as the only worker, which runs one block after another."""

    sweep: Sweep
    work: Work = worker.work
    ask: Ask = worker.facts
    depth: int = 1
    patience: float = 0.0
    _waiting: deque[tuple[bytes, Block]] = field(default_factory=deque)
    _begun: bool = False

    def submit(self, address: str, cell: bytes, block: Block) -> None:  # noqa: ARG002 - there is but one
        """Has it wait for `next`."""
        self._waiting.append((cell, block))

    def next(self, seconds: float) -> Event | None:  # noqa: ARG002 - it never waits
        """Runs the next block that waits. Throws ReapError, KeyboardInterrupt."""
        if not self._begun:
            self._begun = True
            known = self.ask(allocators(self.sweep), HERE)
            worker.introduce(known)
            files = staging.files(self.sweep)
            for digest in staging.lacking(files):
                staging.keep(digest, files[digest].read_bytes())
            return met(HERE, decode(known, Facts))
        if not self._waiting:
            return None
        cell, block = self._waiting.popleft()
        return Ended(HERE, block, *self.work(cell, msgspec.json.encode(block)))

    def settled(self) -> bool:
        """It is here at once."""
        return self._begun


def allocators(sweep: Sweep) -> list[str]:
    """Names of allocators whose origin a worker reports."""
    return list(dict.fromkeys(name for cell in sweep.cells for name in cell.allocators))


def met(address: str, facts: Facts, skew: float = 0.0) -> Joined | Refused:
    """A worker that has told its facts: it joins, unless nothing can be measured there."""
    if facts.reap_version != reap.__version__:
        problem = f"it has reap {facts.reap_version}, and this is {reap.__version__}"
        return Refused(facts.worker, problem, "install the same version on all workers")
    if facts.unfit:
        return Refused(facts.worker, facts.unfit, "run `reap doctor` there")
    return Joined(address, facts, skew)
