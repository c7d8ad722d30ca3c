"""Allocators linked into a watched program, and those of its samples that may be theirs."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch

from msgspec.structs import replace

from reap.evidence.analyse import owners
from reap.evidence.analyse.owners import ALLOCATOR_FILES, Sample
from reap.evidence.records import Linked
from reap.launch.linked import recognise, redirect
from reap.recording.records import Share

_POOLED_BYTES = 64 << 20
_POOLED = 2
"""Fresh pages of so many bytes, and of so many times the bytes requested of malloc, are not malloc's."""


def find(
    files: Iterable[str], program: str, rows: Sequence[Sample], *, counted: int | None, fresh: int
) -> list[Linked]:
    """The allocators in the mapped `files` and the `program`, those without names first.

    By the functions and texts of the files. Where these say nothing and the program is stripped, a static one
    has whatever malloc it calls, and another is told by memory: `fresh` bytes of pages came from the kernel,
    `counted` bytes were requested of malloc (None: not known). A runtime with a collector has a heap of its
    own, which is none. Reads the files: some milliseconds each.
    """
    program = os.path.realpath(program) if program else ""
    own: Counter[str] = Counter()
    for row in rows:
        if not row.inside and not row.kernel:
            own[row.path] += row.count
    found = [
        Linked(
            module=path,
            allocator=each.name,
            how=each.how,
            seen=each.seen,
            samples=own[path],
            stands_aside=path == program and redirect.find(path) is not None,
            library=path != program,
        )
        for path in sorted({*files, program})
        if path.startswith("/") and not _replaceable(path)
        for each in recognise.find(path, program=path == program)
    ]
    if not found and program and not recognise.has_names(program) and not _collects(rows):
        unseen = Linked(
            module=program, allocator=recognise.UNKNOWN, how="memory", seen=False, samples=own[program]
        )
        if recognise.is_static(program):
            found = [replace(unseen, allocator=recognise.in_static(program), how="static")]
        elif _pools(counted, fresh):
            found = [unseen]
    return sorted(found, key=lambda each: each.seen)


def _pools(counted: int | None, fresh: int) -> bool:
    """Whether most of the program's memory is none that malloc served."""
    return counted is not None and fresh >= max(_POOLED_BYTES, _POOLED * counted)


def _collects(rows: Iterable[Sample]) -> bool:
    """Whether a runtime with a collector is at work, whose functions have names in a stripped file, too."""
    return any(owners.collector(row.function) for row in rows)


def bounded(share: Share | None, found: Iterable[Linked]) -> Share | None:
    """The share, marked as a lower bound where samples may be of an allocator that is not seen."""
    if share is None or not any(each.samples and not each.seen for each in found):
        return share
    return replace(share, lower_bound=True)


def _replaceable(path: str) -> bool:
    """Whether the file is an allocator as a whole, which another can take the place of."""
    name = path.rpartition("/")[2]
    return any(fnmatch(name, pattern) for pattern in ALLOCATOR_FILES)


def name_of(server: str, found: Iterable[Linked]) -> str:
    """Name of what serves malloc: a linked allocator where `server` is only the name of its file."""
    known = (each.allocator for each in found if each.module.rpartition("/")[2] == server)
    return next((name for name in known if name != "unknown"), server)
