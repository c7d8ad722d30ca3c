"""Allocators that are linked into the files that a process has mapped, and where they can be asked."""

import re

from reap.base.records import Record
from reap.launch.process import smaps, statistics
from reap.launch.process.statistics import Statistics

_FIRST = re.compile(r"^([0-9a-f]+)-[0-9a-f]+ \S+ 0+ \S+ [1-9][0-9]* +(/.*)$", re.MULTILINE)
"""The mapping of a file's beginning: its address and its name."""


class Place(Record):
    """An allocator in a file of a process."""

    allocator: str
    file: str
    """As the process has it mapped."""
    function: str = ""
    """By which it reports its memory; empty where the file was stripped of the name."""
    address: int = 0
    """Of that function in the process."""


def find(pid: int, mappings: str) -> list[Place]:
    """The allocators of a process with this text of /proc/PID/smaps.

    A file is read once, which takes some milliseconds; what cannot be read has none.
    """
    begins: dict[str, int] = {}
    for match in _FIRST.finditer(mappings):
        begins.setdefault(match[2], int(match[1], 16))
    return [
        Place(
            allocator=each.allocator,
            file=file,
            function=each.function,
            address=begin + each.offset if each.function else 0,
        )
        for file, begin in begins.items()
        for each in _in_file(pid, file)
    ]


_known: dict[tuple[int, int, int, int], list[Statistics]] = {}
"""By inode, since a file has another path in each process. A program has some tens of files."""


def _in_file(pid: int, file: str) -> list[Statistics]:
    path = smaps.PROC / str(pid) / f"root{file}"  # the process may be in another mount namespace
    try:
        status = path.stat()
    except OSError:
        return []
    key = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    if key not in _known:
        _known[key] = statistics.find(path)
    return _known[key]
