"""Facts of an ELF file, as far as preloading needs them. Reads headers and symbols, runs nothing."""

import os
import platform
from pathlib import Path

from reap import native
from reap.base.records import Record

MAGIC = b"\x7fELF"

_OF_GO = (".go.buildinfo", ".note.go.buildid", ".gopclntab")
"""Sections that also a stripped Go program has."""

_MACHINES = {"x86_64": "X86_64", "aarch64": "AARCH64", "i686": "386", "riscv64": "RISCV"}

NotElfError = native.BadElfError
"""The file is not an ELF file, or it is cut short. The text says which, as the end of a sentence."""


class Elf(Record):
    """The facts about one ELF file."""

    path: str
    bits: int
    machine: str
    """As `X86_64`."""
    kind: str
    """`EXEC`, `DYN`, `REL`, `CORE`."""
    interpreter: str
    """The loader that it asks for; empty for a static program and for most libraries."""
    dynamic: bool
    """Whether it has a dynamic section."""
    needed: list[str]
    exports: frozenset[str]
    """Functions of `interesting` that it defines for others to find."""
    defines: frozenset[str]
    """Functions of `interesting` that it defines at all, exported or not (unless it was stripped)."""
    all_symbols: bool = False
    """Whether it has the table of all its functions' names, which stripping takes away."""
    imports: frozenset[str] = frozenset()
    """Functions of `interesting` that it wants from others."""
    go: bool = False
    """Whether Go's linker made it."""

    @property
    def native(self) -> bool:
        """Whether it is for the machine that we run on."""
        return self.machine == _MACHINES.get(platform.machine(), self.machine) and self.bits == 64


def opened(path: str | Path) -> native.ElfFile:
    """Open an ELF file, of a measured program or its user. Throws OSError and NotElfError."""
    return native.ElfFile(os.fsencode(path))


def read(path: str | Path, interesting: frozenset[str]) -> Elf:
    """Reads what the file says of itself; of its symbols only those in `interesting`.

    Throws OSError if it cannot be read, and NotElfError.
    """
    file = opened(path)
    exports: set[str] = set()
    defines: set[str] = set()
    imports: set[str] = set()
    names = list(interesting)
    for table in file.symbol_tables():
        found, wanted = table.functions(names)
        defines |= found.keys()
        if table.dynamic:
            exports |= found.keys()
            imports |= set(wanted)
    return Elf(
        path=str(path),
        bits=file.bits,
        machine=file.machine,
        kind=file.kind,
        interpreter=file.interpreter,
        dynamic=file.dynamic,
        needed=file.needed(),
        exports=frozenset(exports),
        defines=frozenset(defines),
        all_symbols=names_all(file),
        imports=frozenset(imports),
        go=_is_go(file),
    )


def names_all(file: native.ElfFile) -> bool:
    """Whether it has the names of all its functions, and not only of those that other files may call."""
    return any(table.local_functions for table in file.symbol_tables())


def is_go(path: str | Path) -> bool:
    """Whether it is a Go program, by the names of its sections alone. Throws OSError and NotElfError."""
    return _is_go(opened(path))


def _is_go(file: native.ElfFile) -> bool:
    return any(map(file.has_section, _OF_GO))


def build_id(path: str | Path) -> str:
    """The build's identity in hexadecimal, by which debug files are found; empty if it has none.

    Throws OSError and NotElfError.
    """
    return opened(path).build_id().hex()
