"""Finds the stacks of threads: the mappings that their stack pointers point into."""

import contextlib
import os
import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from reap.launch.process.areas import Area
from reap.launch.process.owners.memory import Memory

_MOST = 64 << 20
"""Bytes of a stack without a guard below it: what is larger is a heap in which coroutines have theirs."""
_GUARD = 1 << 20
_DEEP = 256 << 10
_RED_ZONE, _PAGE = 128, 4096
_THREADS = 2000
"""Threads that are asked at once."""


class Stacks:
    """The stack pointers of one process's threads, as far as they were seen.

    Only a thread that waits shows it. One that runs keeps what it showed before. Some 15 us a thread.
    """

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self._pointers: dict[str, int] = {}

    def find(self, areas: Sequence[Area]) -> list[Area]:
        """The mappings that are stacks of threads beside the first one.

        One has a stack pointer, or has the shape of those that have: so it may when its thread has ended, as
        glibc keeps some stacks for threads to come.
        """
        self._ask()
        begins = [area.begin for area in areas]
        pointed = {begins[at] for p in self._pointers.values() if (at := bisect_right(begins, p) - 1) >= 0}
        shapes = {_shape(areas, at) for at, area in enumerate(areas) if area.begin in pointed}
        shapes = (shapes | {self._default()}) - {0}
        return [area for at, area in enumerate(areas) if _is_stack(areas, at, area.begin in pointed, shapes)]

    def below(self, area: Area, memory: Memory) -> int:
        """Resident bytes of a stack that lie below its stack pointer: left by calls that have returned.

        0 for a small one, and where the pointer is not known.
        """
        pointers = [each for each in self._pointers.values() if area.begin <= each < area.end]
        if len(pointers) != 1 or area.resident < _DEEP:
            return 0
        end = (pointers[0] - _RED_ZONE) & -_PAGE
        return memory.resident(area.begin, end) if end > area.begin else 0

    def _ask(self) -> None:
        with contextlib.suppress(OSError):
            threads = os.listdir(self._folder / "task")[:_THREADS]  # noqa: PTH208 - names
            found = {tid: self._pointer(tid) or self._pointers.get(tid, 0) for tid in threads}
            self._pointers = {tid: pointer for tid, pointer in found.items() if pointer}

    def _pointer(self, tid: str) -> int:
        """Of a thread that waits; 0 for one that runs, or that may not be asked."""
        with contextlib.suppress(OSError, ValueError):
            words = (self._folder / "task" / tid / "syscall").read_text().split()
            return int(words[-2], 16) if len(words) > 2 else 0
        return 0

    def _default(self) -> int:
        """Size of a stack that nobody asked for, of glibc and musl: the limit of the first thread's stack."""
        with contextlib.suppress(OSError):
            found = re.search(r"^Max stack size +(\d+)", (self._folder / "limits").read_text(), re.MULTILINE)
            return int(found.group(1)) if found else 0
        return 0


def _shape(areas: Sequence[Area], at: int) -> int:
    """Bytes of a mapping with the guard below it; 0 where there is none."""
    area, guard = areas[at], areas[at - 1]
    guarded = at > 0 and guard.end == area.begin and guard.rights.startswith("---") and not guard.name
    return area.end - guard.begin if guarded and guard.end - guard.begin <= _GUARD else 0


def _is_stack(areas: Sequence[Area], at: int, pointed: bool, shapes: set[int]) -> bool:
    area = areas[at]
    if not area.unnamed or not area.rights.startswith("rw"):
        return False
    shape = _shape(areas, at)
    if pointed:
        return bool(shape) or area.end - area.begin <= _MOST
    return shape in shapes
