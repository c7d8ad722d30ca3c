"""Finds the C library of a process, and where its data lies."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reap.base.files import beginning
from reap.launch.process import smaps
from reap.launch.process.areas import Area

_NAME = re.compile(r"libc(-2\.\d+)?\.so(\.6)?")
_RELEASE = re.compile(rb"GNU C Library [^\n]* version 2\.(\d+)")
"""Line that a libc.so.6 prints when it is run."""


_FIRST = 26
"""Minor version of the first glibc 2 whose data are laid out as today's."""


class Libc(NamedTuple):
    """glibc 2.`minor` in a process, with the addresses of its writable data."""

    minor: int
    begin: int
    end: int


def find(pid: int, areas: Sequence[Area]) -> Libc | None:
    """The glibc of a process with these mappings; None for an older one, or one whose file cannot be read."""
    data = [area for area in areas if area.rights == "rw-p" and _NAME.fullmatch(Path(area.name).name)]
    if not data:
        return None
    minor = _minor(pid, data[0].name)
    return Libc(minor, data[0].begin, data[-1].end) if minor is not None and minor >= _FIRST else None


def release(library: Path) -> int | None:
    """The minor version of glibc 2 that a file is; None for what is none."""
    found = _RELEASE.search(beginning(library))
    return int(found[1]) if found else None


_known: dict[tuple[int, int, int, int], int] = {}
"""By inode, since a file has another path in each process."""


def _minor(pid: int, name: str) -> int | None:
    path = smaps.PROC / str(pid) / f"root{name}"  # the process may be in another mount namespace
    try:
        status = path.stat()
    except OSError:
        return None
    key = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    if key not in _known and (found := release(path)) is not None:
        _known[key] = found  # a file that could not be read once may be read later
    return _known.get(key)
