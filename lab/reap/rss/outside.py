"""Walks glibc's heaps of processes into which nothing was loaded, from outside."""

import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import msgspec

from reap import native
from reap.launch.process import libc, smaps
from reap.launch.process.areas import ARENAS
from reap.launch.process.look import View
from reap.launch.process.records import Around, Kernel, Said, Walk

_SHARE, _CREDIT = 0.006, 0.3
"""CPU time of all walks: as a share of the time, and in seconds beside that. The first is always made."""
_PAUSE, _LEAST = 20, 0.1
"""So many times its CPU time a process's heaps are not walked again; and seconds, where it ended early."""
_SHRUNK, _LITTLE = 0.05, 1 << 20
"""The part of the heaps, or the bytes, that may be gone since they were walked."""
_PER_BYTE = 1e-6 / 4096
"""Seconds that the first walk is expected to take for each resident byte: 0.5 to 1.3 us a page."""
_SMALL = 64 << 10
"""Resident bytes of a mapping below which no blocks are looked for in it."""
_WAIT = 1.0
"""Seconds that a look waits for a walk: the watching may soon be over."""


@dataclass
class _Process:
    """State of the walks of one process."""

    walk: "Future[native.ProcessHeaps | None] | None" = None
    before: Kernel | None = None
    """Memory when that walk began."""
    found: tuple[native.ProcessHeaps, Kernel] | None = None
    """Findings of the last whole walk, and the memory when it began."""
    cost: float = 0.0
    """Seconds of CPU time that a walk takes."""
    due: float = 0.0


class Walks:
    """Walks the heaps again and again, in a thread of its own, so that no look is late for a large heap."""

    def __init__(self) -> None:
        self._processes: dict[int, _Process] = {}
        self._walker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reap-walks")
        self._begun, self._spent = time.monotonic(), 0.0

    def look(self, pid: int, view: View) -> Said | None:
        """Findings of the last walk of this process; None where much of that is gone.

        What the heaps have grown by since is taken for live: they grow for blocks that do not fit.
        """
        process = self._processes.setdefault(pid, _Process())
        self._finish(process)
        if process.walk is None and self._is_due(process, view.kernel):
            self._begin(process, pid, view)
        if process.found is None:
            return None
        found, before = process.found
        if _has_shrunk(before, view.kernel):
            return None
        return _said(found, max(view.kernel.arenas - before.arenas, 0))

    def close(self) -> None:
        """Waits for a walk that goes on."""
        self._walker.shutdown()

    def _is_due(self, process: _Process, kernel: Kernel) -> bool:
        now = time.monotonic()
        process.cost = process.cost or (kernel.heap + kernel.anonymous) * _PER_BYTE
        allowed = _CREDIT + _SHARE * (now - self._begun)
        return now >= process.due and (not self._spent or self._spent + process.cost <= allowed)

    def _begin(self, process: _Process, pid: int, view: View) -> None:
        library = libc.find(pid, view.areas)
        if library is None:
            return
        process.before = view.kernel
        process.walk = self._walker.submit(
            native.walk_heaps,
            pid,
            minor=library.minor,
            data=(library.begin, library.end),
            first_break=smaps.first_break(pid),
            resident=view.kernel.resident,
            mappings=_unowned(view),
        )
        wait([process.walk], _WAIT)
        self._finish(process)

    def _finish(self, process: _Process) -> None:
        if process.walk is None or not process.walk.done():
            return
        found, process.walk = process.walk.result(), None
        if found is not None and process.before is not None:
            process.cost = found.main.duration / 1e9
            process.found = found, process.before
        self._spent += process.cost
        process.due = time.monotonic() + max(_PAUSE * process.cost, _LEAST)


def _unowned(view: View) -> list[tuple[int, int]]:
    """Anonymous mappings that may hold blocks of malloc's."""
    return [
        (area.begin, area.end)
        for area in view.areas
        if area.unnamed and area.resident >= _SMALL and not view.claims.get(area.begin, {}).keys() - {ARENAS}
    ]


def _has_shrunk(before: Kernel, now: Kernel) -> bool:
    was, is_now = before.heap + before.arenas, now.heap + now.arenas
    return was - is_now > max(_SHRUNK * was, _LITTLE)


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
        "mapped": found.mapped_bytes + grown,
        "used": used,
        "free": free,
        "fastbins": around.fast if around is not None else 0,
    }
    return Said(
        kind="glibc",
        provider="libc.so.6",
        stamp=walk.stamp,
        values=values,
        walk=msgspec.structs.replace(walk, used=used, arena=found.system_bytes),
        others=others,
        around=around,
    )
