"""Code that runs on a worker of a Dask cluster: it describes the worker, and then runs blocks."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from reap.base.records import decode
from reap.sweep import staging, worker
from reap.sweep.records import Block, Failed
from reap.sweep.worker import Ask, Work

MEASURE = "measure"
"""The resource of which a worker has one, so that it runs one block at a time."""
TOPIC = "reap-sweep"
"""Begins the names of a sweep's tasks, and of the events that bring its results."""


@dataclass(frozen=True)
class Told:
    """Message of a worker that joins."""

    facts: bytes
    measures: bool
    lacking: list[str]


def introduce(
    ask: Ask,
    names: Sequence[str],
    digests: Sequence[str],
    shared: bool,
    dask_worker: Any,  # noqa: ANN401 - Dask gives it by its name
) -> Told:
    """Runs on a worker that joins: it says what it is and what it lacks, and keeps what it said."""
    if shared:  # several workers of one machine: each has cores of its own
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(dask_worker.name) % len(cores)]})
    known = ask(names, f"worker {dask_worker.name}")
    worker.introduce(known)
    return Told(known, MEASURE in dask_worker.state.total_resources, staging.lacking(digests))


def perform(work: Work, sweep: str, cell: bytes, block: bytes) -> None:
    """Runs a block on a worker, and sends what came of it."""
    from distributed import get_worker

    here = get_worker()
    try:
        run, line = work(cell, block)
    except Exception as error:  # noqa: BLE001 - whatever it is, the driver must hear of it
        failed = Failed(
            block=decode(block, Block),
            worker=f"worker {here.name}",
            problem=f"{type(error).__name__}: {error}",
            hint="this is a bug in reap; please report it",
        )
        run, line = False, msgspec.json.encode(failed)
    here.log_event(f"{TOPIC}-{sweep}", (here.address, block, run, line))
