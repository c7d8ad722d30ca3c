"""Allocations of a part of a recorded process: between two calls of malloc that fail, of known sizes."""

from __future__ import annotations  # numpy's types are for the checker

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reap.recording.analyse.columns import Columns

_TOO_LARGE = 1 << 61
"""More than any allocator has, below what compilers and libraries refuse by themselves."""


def bounds(number: int) -> tuple[int, int]:
    """The sizes that begin and end a window; `number`, of 32 bits, tells it from others."""
    return _TOO_LARGE + 2 * number, _TOO_LARGE + 2 * number + 1


def bound() -> Callable[[int], object]:
    """A function that puts a bound of a window into the recording of this process."""
    malloc = ctypes.CDLL(None).malloc
    malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    return malloc


def measured(file: Path, number: int) -> dict[str, float] | list[str]:
    """The figures of blocks that were allocated in a window, or why the recording does not have all of it.

    `allocations`; `bytes`; `peak`, the most bytes of them in use at once; `live`, the bytes of them that are
    in use when it ends. Memory: 47 bytes an event in the window. Throws ReapError.
    """
    import numpy as np

    import reap

    window = _Window(number)
    recording = reap.open(file)
    recording.each_batch(window.take)
    if not window.ended:
        return ["the recording does not have the call of the test", *recording.missing]
    kept = window.kept
    return figures({name: np.concatenate([each[name] for each in kept]) for name in kept[0]})


class _Window:
    """Keeps the events of a window, of the process that has its bounds."""

    def __init__(self, number: int) -> None:
        self._first, self._last = bounds(number)
        self._pid = 0
        self.ended = False
        self.kept: list[Columns] = []

    def take(self, batch: Columns) -> None:
        """Some events, in the order of time."""
        if self.ended:
            return
        failed = batch["kind"] == _FAILURE
        first, last = ((failed & (batch["size"] == size)).nonzero()[0] for size in (self._first, self._last))
        if len(first):
            self._pid = int(batch["pid"][first[0]])
        if not self._pid:
            return
        cut = slice(int(first[0]) + 1 if len(first) else 0, int(last[0]) if len(last) else None)
        mine = batch["pid"][cut] == self._pid
        self.kept.append({name: column[cut][mine] for name, column in batch.items()})
        self.ended = len(last) > 0


_ALLOCATION, _FREE, _FAILURE = range(3)
"""As `reap.recording.analyse.columns.KINDS` has them."""


def figures(events: dict[str, NDArray[Any]]) -> dict[str, float]:
    """Figures of the events of one process, given in the order of time."""
    import numpy as np

    made = events["kind"] == _ALLOCATION
    change = np.where(made, events["size"], 0).astype(np.int64)
    known = np.flatnonzero(made | (events["kind"] == _FREE))
    # Events of one address in a row, in the order of time: a free ends the block before it, if one is here.
    order = known[np.argsort(events["address"][known], kind="stable")]
    address, begins = events["address"][order], made[order]
    ends = np.flatnonzero(~begins[1:] & begins[:-1] & (address[1:] == address[:-1])) + 1
    change[order[ends]] = -change[order[ends - 1]]
    level: NDArray[np.int64] = np.cumsum(change)
    return {
        "allocations": float(np.count_nonzero(made)),
        "bytes": float(events["size"][made].sum()),
        "peak": float(level.max(initial=0)),
        "live": float(level[-1]) if len(level) else 0.0,
    }
