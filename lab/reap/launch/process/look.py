"""Looks at the memory of one process again and again: its kinds and its owners."""

import time
from typing import NamedTuple

from reap.launch.process import areas, smaps
from reap.launch.process.areas import Area, Claims
from reap.launch.process.owners.find import Owners
from reap.launch.process.records import Kernel

_LASTS = 0.5
"""Seconds that a look is good for where the numbers of pages are the same: what is shared may change."""


class View(NamedTuple):
    """A process at one moment."""

    kernel: Kernel
    shares: Kernel | None
    """The same by PSS; None where that is not known."""
    areas: list[Area]
    claims: Claims
    """What is owned of each."""
    text: str
    """Of /proc/PID/smaps; empty where it may not be read."""


class Watched:
    """A process that is watched. Where nothing changes, one look in half a second walks over its pages.

    Cost: the kernel's, some 30 ns for each resident page, and some 2 us for each mapping.
    """

    def __init__(self, pid: int, parent: "Watched | None" = None) -> None:
        self._pid = pid
        self.owners: Owners = Owners(pid, parent.owners if parent is not None else None)
        self._known: dict[str, Area] = {}
        self._last: View | None = None
        self._pages, self._stamp = "", 0.0

    def look(self) -> View:
        """Looks at the process as it is now. Throws EndedError."""
        pages, now = smaps.pages(self._pid), time.monotonic()
        if self._last is not None and pages == self._pages and now < self._stamp + _LASTS:
            return self._last
        try:
            text = smaps.mappings(self._pid)
        except PermissionError:
            return View(smaps.coarse(self._pid), None, [], {}, "")
        found = areas.parse(text, self._known)
        claims = self.owners.claims(found)
        kernel, shares = areas.summed(found, claims)
        self._pages, self._stamp, self._last = pages, now, View(kernel, shares, found, claims, text)
        return self._last
