"""A recording for other programs in Python: `reap.open(FILE)`. Stacks and events as columns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reap import native
from reap.recording.analyse.calls import COLUMNS, Calls, named
from reap.recording.analyse.columns import CALL_NAMES, KINDS, ROWS, Columns, each_batch
from reap.recording.analyse.notes import missing
from reap.recording.read import read


class OpenRecording:
    """A recording that has been read. `reap.open` makes it.

    Memory: what the recorded program had in use at once, and its distinct stacks.
    """

    kinds = KINDS
    """Names of the numbers in the column `kind` of events."""
    calls = CALL_NAMES
    """Names of the numbers in the column `call` of events."""

    def __init__(self, file: Path) -> None:
        self._recording = read(file)
        self._tree = self._recording.calls(0.0)
        self._calls: Calls | None = None
        header = self._recording.header()
        self.depth: Literal["triage", "full"] = "full" if header.depth == native.FULL else "triage"
        """In triage all but the program's own sizes and addresses is estimated from samples."""
        self.seconds: float = header.seconds
        self.missing: list[str] = missing(self._recording)
        """What was not recorded, in sentences; empty where all was."""

    def stacks(self) -> dict[str, NDArray[Any]]:
        """A row for each stack that allocated, as columns for a data frame.

        `stack` is what events refer to; `process` the name of the executable; `frames` and `locations` are
        tuples of text, innermost first; the measures `allocations`, `bytes`, `peak_bytes` (in use when the
        program used most), `temporary` (blocks freed before the same thread allocated again) and `exit_bytes`
        (not freed when the process ended) are numbers. Cost: the first call looks the names up.
        """
        if self._calls is None:
            self._calls = named(self._tree)
        tree = self._calls
        nodes = np.flatnonzero(np.asarray(tree.own["allocations"]) > 0)
        paths = [tree.path(int(node)) for node in nodes]
        where = [place.where for place in tree.places]
        functions = [place.function for place in tree.places]
        return {
            "stack": nodes,
            "process": np.array([functions[path[0]] for path in paths], dtype=object),
            "frames": _tuples(functions, paths),
            "locations": _tuples(where, paths),
            **{name: np.asarray(tree.own[measure])[nodes] for name, measure in COLUMNS.items()},
        }

    def events(self) -> Columns:
        """Every event in the order of time, as columns for a data frame. Memory: 47 bytes an event.

        `time_ns` is since the recording began; `kind` and `call` are numbers, whose names are `kinds` and
        `calls`; `thread` counts from 0 in each process; `size` is 0 of a free; `stack` is -1 where the event
        has none; `weight` is 1, or in triage how many blocks a sampled one stands for.
        """
        batches: list[Columns] = []
        self.each_batch(batches.append)
        if not batches:
            return {name: np.empty(0, kind) for name, kind in _EMPTY.items()}
        return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}

    def each_batch(self, take: Callable[[Columns], None], rows: int = ROWS) -> None:
        """Calls `take` with the columns of at most `rows` events at a time, for recordings of any length."""
        each_batch(self._recording, self._tree, take, rows)


_EMPTY = {
    "time_ns": np.int64,
    "kind": np.uint8,
    "call": np.uint8,
    "pid": np.uint32,
    "thread": np.uint32,
    "address": np.uint64,
    "size": np.uint64,
    "stack": np.int64,
    "weight": np.float64,
}


def _tuples(names: list[str], paths: list[list[int]]) -> NDArray[Any]:
    """Innermost first; the process, which is outermost, is no frame."""
    found = np.empty(len(paths), dtype=object)
    for row, path in enumerate(paths):
        found[row] = tuple(names[place] for place in path[:0:-1])
    return found
