# ruff: noqa: INP001 - no package: a folder that stands alone in a search path
"""Runs at the start of a measured CPython, found by PYTHONPATH: notes its collections, or makes them rare.

Nothing of it stays to be seen but one entry of gc.callbacks: the path, the variables and the sitecustomize
that this one stands before are as they would be. Whatever goes wrong, the program starts as it would have. It
is for every Python from 3.7 on. `reap.evidence.analyse.collectors` reads what it writes: slots, whose layout
is lab/format/reap_collections.h. It is spelled out again here because the measured Python has no reap.native.
"""

import contextlib
import sys


def _restore() -> str:
    """Makes the search path and the variables what they are without this file, and tells where to write."""
    import os

    sink = os.environ.pop("REAP_COLLECTIONS", "")
    before = os.environ.pop("REAP_PYTHONPATH", None)
    if before is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = before
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would stay loaded
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]  # noqa: PTH100
    return sink


def _listen(sink: str) -> None:
    """Counts collections into the file, which is mapped: its descriptor is nothing the program can close."""
    import gc
    import mmap
    import os
    import struct
    import time

    with open(sink, "r+b") as file:  # noqa: PTH123 - as above
        slots = mmap.mmap(file.fileno(), 0)
    # struct reap_collections_slot, compared by a test: the measured Python cannot import reap.native.
    numbers = struct.Struct("=4q")
    state = {"at": 0, "begun": 0, "count": 0, "time": 0, "most": 0}

    def claim() -> None:
        for at in range(0, len(slots), numbers.size):
            if numbers.unpack_from(slots, at)[0] == 0:
                state.update(at=at, begun=0, count=0, time=0, most=0)
                write()
                return
        gc.callbacks.remove(heard)

    def write() -> None:
        numbers.pack_into(slots, state["at"], os.getpid(), state["count"], state["time"], state["most"])

    def heard(phase: str, _info: object) -> None:
        if phase == "start":
            state["begun"] = time.thread_time_ns()
        elif state["begun"]:
            took = max(0, time.thread_time_ns() - state["begun"] - bias)
            state["count"] += 1
            state["time"] += took
            state["most"] = max(state["most"], took)
            write()

    def calibrate() -> int:
        """Time between the two calls when there is nothing to collect: the calls, and the clock."""
        gaps: list[int] = []

        def timed(_phase: str, _info: object) -> None:
            gaps.append(time.thread_time_ns())

        gc.collect()
        gc.callbacks.append(timed)
        for _ in range(50):
            gc.collect(0)
        gc.callbacks.remove(timed)
        gc.collect()  # so that the next collection is a young one, as it would have been
        return min(gaps[at + 1] - gaps[at] for at in range(0, len(gaps) - 1, 2))

    bias = calibrate()
    gc.callbacks.append(heard)
    claim()
    os.register_at_fork(after_in_child=claim)


def _collect_rarely() -> None:
    """Sets the thresholds of the remedy "collect cycles rarely"."""
    import gc

    gc.set_threshold(100_000, 50, 1000)


with contextlib.suppress(Exception):
    if sink := _restore():
        _listen(sink)
    else:
        _collect_rarely()

# The program's own sitecustomize, which this one was found before.
sys.modules.pop("sitecustomize", None)
with contextlib.suppress(ImportError):
    import sitecustomize  # type: ignore[import-not-found] # noqa: F401
