"""Events of a recording as columns of a data frame, some at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reap import native
from reap.recording.analyse.profile import CALLS

KINDS = ("allocation", "free", "failure")
"""By number, as `EventRows.kinds` has them. A realloc is a free and an allocation."""
CALL_NAMES = (*CALLS, *(f"call {number}" for number in range(len(CALLS), 16)))
"""By number, for every number that a recording can hold."""
ROWS = 1 << 17
"""Events at a time: some 6 MB."""

Columns = dict[str, NDArray[Any]]


def each_batch(
    recording: native.Recording,
    tree: native.CallTree,
    take: Callable[[Columns], None],
    rows: int = ROWS,
    *,
    matched: bool = False,
) -> None:
    """Calls `take` with columns of at most `rows` events, in the order of time. `tree` is of `calls(0)`.

    `time_ns` is since the recording began; `kind` and `call` are numbers, of `KINDS` and of `CALL_NAMES`;
    `stack` is a node of the tree, -1 where the event has none; `size` is 0 of a free; `weight` is 1, or of a
    sampled allocation how many it stands for. With `matched` a free has the size and the stack of its block,
    in full depth.
    """

    def columns(batch: native.EventRows) -> None:
        nodes = batch.nodes.astype(np.int64)
        nodes[batch.nodes == native.NO_NODE] = -1
        take(
            {
                "time_ns": batch.nanoseconds,
                "kind": batch.kinds,
                "call": batch.calls,
                "pid": batch.pids,
                "thread": batch.threads,
                "address": batch.addresses,
                "size": batch.sizes,
                "stack": nodes,
                "weight": batch.weights,
            }
        )

    recording.events(tree, rows, columns, matched)
