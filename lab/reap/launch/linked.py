"""Allocators that are linked into files of a program, where no preload can replace them."""

import functools
from pathlib import Path
from typing import Literal

from reap.allocators import elf, own_functions
from reap.allocators.records import MALLOC
from reap.base.records import Record

PRIVATE_NAMES = {
    "_rjem_malloc": "jemalloc",
    "_rjem_mallocx": "jemalloc",
    "je_malloc": "jemalloc",
    "je_mallocx": "jemalloc",
    "je_malloc_default": "jemalloc",
    "mi_malloc": "mimalloc",
    "mi_malloc_aligned": "mimalloc",
    "_mi_malloc_generic": "mimalloc",
    "tc_malloc": "tcmalloc",
    "sn_malloc": "snmalloc",
    "sn_rust_alloc": "snmalloc",
    "rpmalloc": "rpmalloc",
}
"""Functions by which an allocator that was linked in gives itself away."""
UNKNOWN = "unknown"
"""Name of a malloc that has no known allocator's functions."""


class Allocator(Record):
    """One that a file has in it."""

    name: str
    """jemalloc, mimalloc, ...; `unknown` for a malloc that has no known one's names."""
    how: Literal["symbols", "text"]
    """What gives it away: its functions, or what it prints."""
    seen: bool
    """Whether the names of its functions are there, so that samples in them can be told from others."""


def find(path: str, *, program: bool = False) -> list[Allocator]:
    """The allocators that are linked into a file; none where it cannot be read.

    `program`: the file is the program, of which a malloc of any kind counts. Libraries of the C library have
    one, too. Takes some milliseconds a file, and a second for the largest; a file is read once.
    """
    try:
        status = Path(path).stat()
        return _find(path, program, status.st_mtime_ns, status.st_size)
    except (OSError, elf.NotElfError):
        return []


def has_names(path: str) -> bool:
    """Whether a file has the names of all its functions; not if it is stripped, or cannot be read."""
    try:
        return elf.read(path, frozenset()).all_symbols
    except (OSError, elf.NotElfError):
        return False


@functools.lru_cache(maxsize=1024)
def _find(path: str, program: bool, changed: int, size: int) -> list[Allocator]:  # noqa: ARG001 - as a key
    facts = elf.read(path, frozenset({MALLOC, own_functions.CPYTHON, *PRIVATE_NAMES}))
    named = {PRIVATE_NAMES[name] for name in facts.defines if name in PRIVATE_NAMES}
    printed = set(own_functions.read(path).printed)
    if own_functions.CPYTHON in facts.defines:
        named.discard("mimalloc")
    found = [
        Allocator(name=name, how="symbols" if name in named else "text", seen=facts.all_symbols)
        for name in sorted({*named, *printed})
    ]
    if not found and program and MALLOC in facts.defines:
        found = [Allocator(name=UNKNOWN, how="symbols", seen=facts.all_symbols)]
    return found
