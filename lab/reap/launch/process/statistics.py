"""Addresses of the functions by which an allocator that is linked into a file reports its memory."""

import re
from pathlib import Path

from reap import native
from reap.allocators import elf, own_functions
from reap.base.records import Record

_FUNCTIONS = {
    "jemalloc": (b"mallctl", rb"(?:\w+_)?mallctl"),
    "tcmalloc": (b"MallocExtension_GetNumericProperty", rb"MallocExtension_GetNumericProperty"),
    "mimalloc": (b"mi_process_info", rb"(?:\w+_)?mi_process_info"),
    "snmalloc": (b"sn_rust_statistics", rb"sn_rust_statistics"),
}
"""What the function's name contains, and its pattern: builds give it a prefix of their own."""
_SILENT = "snmalloc"
"""Prints nothing by which it could be recognised: its functions' names have to do."""
_PAGE = 4096


class Statistics(Record):
    """An allocator that a file has in it, and its function."""

    allocator: str
    function: str = ""
    """The name; empty where the file was stripped of it."""
    offset: int = 0
    """Bytes from where the file's first segment is mapped."""


def find(path: str | Path) -> list[Statistics]:
    """The allocators that are linked into a file; none where it cannot be read.

    Reads its constants and the names in it: some milliseconds, 0.1 s for the largest libraries.
    """
    printed = set(own_functions.read(str(path)).printed)
    try:
        named = _named(elf.opened(path), printed)
    except (OSError, elf.NotElfError):
        return []
    return [named.get(name, Statistics(allocator=name)) for name in sorted({*named, *printed})]


def _named(file: native.ElfFile, printed: set[str]) -> dict[str, Statistics]:
    found: dict[str, Statistics] = {}
    for table in file.symbol_tables():
        for allocator, (part, pattern) in _FUNCTIONS.items():
            if allocator in found or allocator not in {*printed, _SILENT}:
                continue
            names = set(own_functions.containing(table.strings, part))
            asked = sorted(name.decode() for name in names if re.fullmatch(pattern, name))
            defined, _ = table.functions(asked)
            if defined:
                name = min(defined, key=len)
                offset = defined[name] - file.base // _PAGE * _PAGE
                found[allocator] = Statistics(allocator=allocator, function=name, offset=offset)
    return found
