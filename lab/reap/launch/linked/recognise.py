"""Allocators that are linked into files of a program, where no preload can replace them."""

import functools
from pathlib import Path
from typing import Literal

from reap import native
from reap.allocators import elf, own_functions
from reap.allocators.records import MALLOC
from reap.base.files import beginning
from reap.base.records import Record

WITH_PREFIX = (
    *("_rjem_malloc", "_rjem_mallocx", "je_malloc", "je_mallocx", "mi_malloc", "mi_malloc_aligned"),
    *("tc_malloc", "sn_malloc", "sn_rust_alloc", "rpmalloc"),
)
"""Names under the usual prefixes, of which `native.own_names` knows the allocators."""
_INNER = {"je_malloc_default": "jemalloc", "_mi_malloc_generic": "mimalloc"}
PRIVATE_NAMES: dict[str, str] = {
    **dict(native.own_names("\0".join(WITH_PREFIX).encode())),
    **_INNER,
}
"""Functions by which an allocator that was linked in gives itself away: names that `native.own_names` knows
under the usual prefixes, and functions inside an allocator."""
_TUNABLES = b"glibc.malloc.tcache"
"""A text of glibc, which reads its tunables in static programs, too."""
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


def is_static(path: str) -> bool:
    """Whether a file is a program with all that it calls in it; not if it cannot be read."""
    try:
        return not elf.read(path, frozenset()).interpreter
    except (OSError, elf.NotElfError):
        return False


def in_static(path: str) -> str:
    """Name of what serves malloc in a static program that brings no allocator: go, glibc or `unknown`.

    Reads the file whole.
    """
    try:
        if elf.is_go(path):
            return "go"
        return "glibc" if _TUNABLES in beginning(path) else UNKNOWN
    except (OSError, elf.NotElfError):
        return UNKNOWN


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
