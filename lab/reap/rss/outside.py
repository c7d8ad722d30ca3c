"""Walks glibc's heaps of processes into which nothing was loaded, from outside."""

import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import msgspec

from reap import native
from reap.launch.process import libc, smaps
from reap.launch.process.areas import ARENAS
from reap.launch.process.look import View
from reap.launch.process.records import Around, Kernel, Said, Walk

_SHARE = 0.004
"""CPU time of all walks, as a share of the time."""
_CREDIT = 0.1
"""Seconds of CPU time that walks may take beside that; the first is always made."""
_PAUSE = 20
"""Shortest time between two walks of a process, as a multiple of the CPU time of one."""
_SHORTEST_PAUSE = 0.1
"""Seconds between two walks of a process at least."""
_SHRUNK = 0.05
"""The part of the heaps from which on a walk does not stand for them, where it is gone ..."""
_SHRUNK_BYTES = 1 << 20
"""... and the bytes."""
_PER_BYTE = 1e-6 / 4096
"""Seconds that a walk is expected to take for each resident byte: 0.5 to 1.3 us a page."""
_SMALL = 64 << 10
"""Resident bytes of a mapping below which no blocks are looked for in it."""
_WAIT = 1.0
"""Seconds that a snapshot waits for first walks: the watching may soon be over."""

_NOT_GLIBC = "its C library is not glibc 2.26 or later, is linked in, or was replaced since it started"
_GOES_ON = "that takes longer; watch it for more --seconds"
_FAILED = "its memory may not be read, is swapped out in part, or changed during each walk over its heaps"
_SHRANK = "its heaps shrank since they were walked"


@dataclass(frozen=True)
class _Walked:
    """A walk that has ended, or failed."""

    found: native.ProcessHeaps | None
    seconds: float
    """CPU time that it took."""


@dataclass
class _Process:
    """State of the walks of one program in one process."""

    program: tuple[int, int]
    walk: "Future[_Walked] | None" = None
    before: Kernel | None = None
    """Memory when that walk began."""
    found: tuple[native.ProcessHeaps, Kernel] | None = None
    """Findings of the last whole walk, and the memory when it began."""
    seconds: float = 0.0
    """CPU time that the last walk took."""
    due: float = 0.0
    why: str = _GOES_ON
    """Reason why there are no findings."""


class Walks:
    """Walks the heaps again and again, in a thread of its own; snapshots wait for the first walks alone."""

    def __init__(self) -> None:
        self._processes: dict[int, _Process] = {}
        self._walker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reap-walks")
        self._begun, self._spent, self._patience = time.monotonic(), 0.0, 0.0

    def begin(self, pids: Collection[int]) -> None:
        """Begins a snapshot of these processes; what is known of others is forgotten."""
        self._processes = {pid: each for pid, each in self._processes.items() if pid in pids}
        self._patience = time.monotonic() + _WAIT

    def look(self, pid: int, view: View) -> Said | str:
        """Findings of the last walk of this process; a clause that says why there are none.

        What the heaps have grown by since is taken for live: they grow for blocks that do not fit.
        """
        program = smaps.program(pid)
        process = self._processes.get(pid)
        if process is None or process.program != program:
            process = self._processes[pid] = _Process(program)
        self._finish(process)
        if process.walk is None and time.monotonic() >= process.due:
            self._begin(process, pid, view)
        if process.walk is not None and process.found is None:
            wait([process.walk], max(self._patience - time.monotonic(), 0))
            self._finish(process)
        if process.found is None:
            return process.why
        found, before = process.found
        if _has_shrunk(before, view.kernel):
            return _SHRANK
        return _said(found, max(view.kernel.arenas - before.arenas, 0))

    def close(self) -> None:
        """Waits for the walk that goes on, if one does."""
        self._walker.shutdown(cancel_futures=True)

    def _may(self, process: _Process, kernel: Kernel) -> bool:
        """Whether a walk is within what all may take."""
        process.seconds = max(process.seconds, _expected(kernel))
        going_on = [each for each in self._processes.values() if each.walk is not None]
        spent = self._spent + sum(each.seconds for each in going_on)
        allowed = _CREDIT + _SHARE * (time.monotonic() - self._begun)
        return not spent or spent + process.seconds <= allowed

    def _begin(self, process: _Process, pid: int, view: View) -> None:
        """Begins a walk, unless there is nothing to be walked or no time for it yet."""
        library = libc.find(pid, view.areas)
        if library is None:
            process.why, process.due = _NOT_GLIBC, time.monotonic() + _WAIT
            return
        if not self._may(process, view.kernel):
            return
        process.before = view.kernel
        process.walk = self._walker.submit(_walk, pid, library, process.program[1], view)

    def _finish(self, process: _Process) -> None:
        """Takes what a walk has found that has ended; each process gets its turn before one gets another."""
        if process.walk is None or not process.walk.done():
            return
        walked, process.walk = process.walk.result(), None
        self._spent += walked.seconds
        process.seconds = walked.seconds
        if walked.found is not None and process.before is not None:
            process.found = walked.found, process.before
        else:
            process.why = _FAILED
        turn = (
            sum(each.seconds for each in self._processes.values()) / _SHARE if len(self._processes) > 1 else 0
        )
        process.due = time.monotonic() + max(_PAUSE * walked.seconds, _SHORTEST_PAUSE, turn)


def _walk(pid: int, library: libc.Libc, first_break: int, view: View) -> _Walked:
    begun = time.thread_time()
    found = native.walk_heaps(
        pid,
        minor=library.minor,
        data=(library.begin, library.end),
        first_break=first_break,
        resident=view.kernel.resident,
        mappings=_unowned(view),
    )
    return _Walked(found, time.thread_time() - begun)


def _unowned(view: View) -> list[tuple[int, int]]:
    """Anonymous mappings that may hold blocks of malloc's."""
    return [
        (area.begin, area.end)
        for area in view.areas
        if area.unnamed and area.resident >= _SMALL and not view.claims.get(area.begin, {}).keys() - {ARENAS}
    ]


def _expected(kernel: Kernel) -> float:
    return (kernel.heap + kernel.anonymous) * _PER_BYTE


def _has_shrunk(before: Kernel, now: Kernel) -> bool:
    was, is_now = before.heap + before.arenas, now.heap + now.arenas
    return was - is_now > max(_SHRUNK * was, _SHRUNK_BYTES)


def _said(found: native.ProcessHeaps, grown: int) -> Said:
    """Report as glibc would make it of itself, with what has grown outside of the main heap since."""
    walk = msgspec.convert(found.main, Walk, from_attributes=True)
    others = msgspec.convert(found.others, Walk, from_attributes=True) if found.others else None
    around = msgspec.convert(found.around, Around, from_attributes=True) if found.around else None
    used, free = walk.live, walk.free + walk.top
    if others is not None:
        used, free = used + others.live, free + others.free + others.top
    values = {
        "arena": found.system_bytes,
        "mapped": (found.mapped_bytes or 0) + grown,
        "used": used,
        "free": free,
        "fastbins": around.fast if around is not None else 0,
    }
    return Said(
        kind="glibc",
        provider="libc.so.6",
        stamp=walk.stamp,
        outside=True,
        values=values,
        walk=msgspec.structs.replace(walk, used=used, arena=found.system_bytes),
        others=others,
        around=around,
    )
