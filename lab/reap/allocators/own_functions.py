"""Allocators with functions of their own, such as `mallocx`: who defines them, and who calls them."""

import functools
from collections.abc import Iterator
from pathlib import Path

from reap import native
from reap.allocators import elf
from reap.base.records import Record

_SAYS = {"jemalloc": b"<jemalloc>: ", "mimalloc": b"mimalloc: "}
"""What an allocator prints. Functions of another may have its names, and its own may have been stripped."""


CPYTHON = "PyMem_RawMalloc"
"""Defined by CPython, which has had mimalloc in it since 3.13 and uses it only where it is asked to."""
_ALSO_SAYS = {
    "tcmalloc": (b"tcmalloc.slack_bytes", b"tcmalloc.pageheap_unmapped_bytes"),
    "scudo": (b"SCUDO_OPTIONS", b"Scudo ERROR: "),
}
"""The same, all of it, of allocators whose own functions are known without."""


_SAY_NOTHING = (b"\0sn_malloc\0", b"\0sn_rust_alloc\0", b"\0rpmalloc\0", b"\0tc_malloc\0")
"""Functions of allocators that are known without what they print."""


class OwnFunctions(Record):
    """The allocators of one file, each with one of its functions; empty where that has no name any more."""

    defined: dict[str, str] = {}
    """Whose functions the file has."""
    wanted: dict[str, str] = {}
    """Whose functions it calls in another file."""
    printed: list[str] = []
    """Allocators, others too, of which the file has what they print."""


def read(path: str) -> OwnFunctions:
    """Reads the file's allocators with functions of their own; nothing where it cannot be read.

    Reads its symbols once: some milliseconds, and 0.1 s for the largest libraries.
    """
    try:
        status = Path(path).stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except (OSError, elf.NotElfError):
        return OwnFunctions()


@functools.lru_cache(maxsize=1024)
def _read(path: str, changed: int, size: int) -> OwnFunctions:  # noqa: ARG001 - a file that changed is another
    file = elf.opened(path)
    text = file.section(".rodata")
    there = {allocator for allocator, says in _SAYS.items() if says in text}
    also = {allocator for allocator, says in _ALSO_SAYS.items() if all(each in text for each in says)}
    if "mimalloc" in there and _defines(file, CPYTHON):
        there.discard("mimalloc")
    found = OwnFunctions(printed=sorted({*there, *also}))
    # The table that is not dynamic has all that a program defines, which takes a second for a compiler's.
    for table in file.symbol_tables(dynamic_only=not there and not _names_another(file)):
        _add(found, table)
    for allocator in _SAYS:
        if allocator not in there:
            found.defined.pop(allocator, None)
        elif not elf.names_all(file):
            found.defined.setdefault(allocator, "")
    for allocator in also:
        found.defined.setdefault(allocator, "")
    return found


def _names_another(file: native.ElfFile) -> bool:
    strings = file.section(".strtab")
    return any(name in strings for name in _SAY_NOTHING)


def _defines(file: native.ElfFile, function: str) -> bool:
    return any(table.functions([function])[0] for table in file.symbol_tables(dynamic_only=True))


def _add(found: OwnFunctions, table: native.SymbolTable) -> None:
    named = table.own_names()
    defined, wanted = table.functions([name for name, _ in named])
    for known, names_here in ((found.defined, defined), (found.wanted, wanted)):
        for allocator in sorted({allocator for _, allocator in named}):
            names = [name for name, whose in named if whose == allocator and name in names_here]
            if names:
                known.setdefault(allocator, min(names, key=_plainness))


def containing(strings: bytes, part: bytes) -> Iterator[bytes]:
    """The NUL-terminated strings that contain `part`."""
    at = strings.find(part)
    while at >= 0:
        end = strings.find(b"\0", at)
        yield strings[strings.rfind(b"\0", 0, at) + 1 : end]
        at = strings.find(part, end) if end >= 0 else -1


def _plainness(function: str) -> tuple[bool, int]:
    return "malloc" not in function, len(function)
