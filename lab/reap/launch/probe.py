"""Reads what libreap-probe.so wrote: which file serves each allocation function, process by process."""

from pathlib import Path

from reap.allocators.records import FUNCTIONS
from reap.base.files import beginning

VARIABLE = "REAP_PROBE"
"""By which the probe finds its file."""

_FIELDS = 2 + len(FUNCTIONS)


def read(path: str | Path) -> dict[str, dict[str, str]]:
    """By executable, in the order in which they started; of several processes of one, the first."""
    fields = beginning(path).decode(errors="replace").split("\0")[:-1]
    heap: dict[str, dict[str, str]] = {}
    for at in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        _pid, executable, *files = fields[at : at + _FIELDS]
        heap.setdefault(executable, dict(zip(FUNCTIONS, files, strict=True)))
    return heap
