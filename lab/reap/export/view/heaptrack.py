"""The file format of heaptrack, as heaptrack_interpret writes it: every allocation and free, with its stack.

https://invent.kde.org/sdk/heaptrack, src/analyze/accumulatedtracedata.cpp reads it: a letter and hexadecimal
numbers a line. Strings, code, stacks and sizes are defined before they are referred to, by their order.
"""

import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from reap import native
from reap.base.text import printable
from reap.recording.analyse.calls import Calls, Place, several_processes
from reap.recording.analyse.columns import KINDS, Columns, each_batch
from reap.recording.records import Point

_VERSION = "v 10400 2"
"""Of heaptrack, and of its format: the last whose strings are not preceded by their length."""
_FREE = KINDS.index("free")
_FAILURE = KINDS.index("failure")
_Numbers = NDArray[np.int64]
_STEP_NS = 10_000_000
"""How often the time is written; heaptrack does so every ten milliseconds."""


@contextmanager
def compressed(stream: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Yields the stream to write to: heaptrack takes a file for compressed if its name ends in .gz."""
    if path.suffix != ".gz":
        yield stream
        return
    with gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=stream, mtime=0) as packed:
        yield packed  # type: ignore[misc] # it is one, to all who write


def write(
    stream: IO[bytes],
    recording: native.Recording,
    raw: native.CallTree,
    tree: Calls,
    command: str,
    resident: Sequence[Point],
) -> None:
    """Writes a recording in full depth. `raw` is of `calls(0)`, `tree` the same with names."""
    page = os.sysconf("SC_PAGE_SIZE")
    head = [_VERSION, f"X {printable(command) or 'unknown'}", f"I {page:x} 0"]
    lines, first = definitions(tree)
    stream.write("\n".join([*head, *lines, ""]).encode())
    events = _Events(stream, first, [(round(at.seconds * 1e3), round(at.bytes) // page) for at in resident])
    each_batch(recording, raw, events.add, matched=True)
    events.finish()


def definitions(tree: Calls) -> tuple[list[str], list[int]]:
    """The lines that define strings, code and stacks, and the number of each node's stack.

    The last is of what was allocated from an unknown stack.
    """
    text = _Strings()
    bare = not several_processes(tree)
    code = [_code(text, place) for place in tree.places]
    lines = [*code, _code(text, Place("unknown", "", 0, "", 0, inlined=False, process=False))]
    stacks = []
    numbers: list[int] = []
    for place, parent in zip(tree.at, tree.parents, strict=True):
        above = numbers[parent] if parent >= 0 else 0
        if bare and tree.places[place].process:
            numbers.append(0)
            continue
        stacks.append(f"t {place + 1:x} {above:x}")
        numbers.append(len(stacks))
    stacks.append(f"t {len(lines):x} 0")
    return [*text.lines(), *lines, *stacks], [*(number or len(stacks) for number in numbers), len(stacks)]


def _code(text: "_Strings", place: Place) -> str:
    where = f"{text.at(place.function)} {text.at(place.file)} {max(place.line, 0):x}"
    return f"i {place.address:x} {text.at(place.module)} {where}"


class _Strings:
    """Numbers of strings, from 1; an empty one has none."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def at(self, raw: str) -> str:
        said = printable(raw)
        return f"{self._known.setdefault(said, len(self._known) + 1):x}" if said else "0"

    def lines(self) -> list[str]:
        return [f"s {said}" for said in self._known]


class _Events:
    """Writes events: a stack and a size are defined at their first, which then refer to both by a number."""

    def __init__(self, stream: IO[bytes], stacks: list[int], resident: list[tuple[int, int]]) -> None:
        self._stream = stream
        self._stacks = np.array(stacks)
        self._sizes: dict[int, int] = {}
        self._known: dict[int, int] = {}
        self._lines: list[bytes] = []
        """Of each number the line of an allocation, then that of a free."""
        self._resident = resident[::-1]

    def add(self, columns: Columns) -> None:
        """The events of a batch. A free of an unknown block is none to heaptrack; neither is a failure."""
        kind, stack = columns["kind"], columns["stack"]
        kept = np.flatnonzero((kind != _FAILURE) & ((kind != _FREE) | (stack >= 0)))
        if not len(kept):
            return
        frees = kind[kept] == _FREE
        numbers = 2 * self._numbered(self._stacks[stack[kept]], columns["size"][kept]) + frees
        steps = columns["time_ns"][kept] // _STEP_NS
        begins = np.flatnonzero(np.diff(steps, prepend=-1)).tolist()
        for begin, end in zip(begins, [*begins[1:], len(kept)], strict=True):
            self._at(max(int(steps[begin]) * _STEP_NS // 1_000_000, 0))
            self._stream.write(b"".join(map(self._lines.__getitem__, numbers[begin:end].tolist())))

    def finish(self) -> None:
        """Writes what was resident behind the last event."""
        if self._resident:
            self._at(self._resident[0][0])

    def _at(self, milliseconds: int) -> None:
        self._stream.write(b"c %x\n" % milliseconds)
        while self._resident and self._resident[-1][0] <= milliseconds:
            self._stream.write(b"R %x\n" % self._resident.pop()[1])

    def _numbered(self, stacks: _Numbers, sizes: _Numbers) -> _Numbers:
        """The number of each pair of a stack and a size; writes those that are new."""
        size_of, size_at = np.unique(sizes, return_inverse=True)
        of = [self._sizes.setdefault(size, len(self._sizes)) for size in size_of.tolist()]
        pairs, at = np.unique(stacks << 32 | np.array(of)[size_at], return_inverse=True)
        named = dict(zip(of, size_of.tolist(), strict=True))
        for pair in pairs.tolist():
            if pair not in self._known:
                number = self._known[pair] = len(self._known)
                self._lines += (b"+ %x\n" % number, b"- %x\n" % number)
                self._stream.write(b"a %x %x\n" % (named[pair & 0xFFFFFFFF], pair >> 32))
        return np.array([self._known[pair] for pair in pairs.tolist()])[at]
