"""Facts of an ELF file, as far as preloading needs them. Reads headers and symbols, runs nothing."""

import platform
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment

from reap import native
from reap.base.files import opened_regular
from reap.base.records import Record

MAGIC = b"\x7fELF"

_SYMBOL = struct.Struct("<IBBHQQ")
"""A 64-bit symbol, the only ones that are read: name, info, other, section, value, size."""
_UNDEFINED = 0
_TYPE = 15
"""Bits of a symbol's info that have its type."""

TABLE_ERRORS = (ELFError, ValueError, KeyError, IndexError, TypeError, AttributeError, UnicodeError)
"""What pyelftools lets out when a table lies beyond the end of the file."""

_OF_GO = (".go.buildinfo", ".note.go.buildid", ".gopclntab")
"""Sections that also a stripped Go program has."""

_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64", "i686": "EM_386", "riscv64": "EM_RISCV"}


class NotElfError(Exception):
    """The file is not an ELF file, or it is cut short. The text says which, as the end of a sentence."""


class Elf(Record):
    """The facts about one ELF file."""

    path: str
    bits: int
    machine: str
    """As `EM_X86_64`."""
    kind: str
    """`ET_EXEC`, `ET_DYN`, `ET_REL`, `ET_CORE`."""
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


def read(path: str | Path, interesting: frozenset[str]) -> Elf:
    """Reads what the file says of itself; of its symbols only those in `interesting`.

    Throws OSError if it cannot be read, and NotElfError.
    """
    with opened_regular(path) as file:
        start = file.read(4)
        if not start:
            raise NotElfError("is empty")
        if start != MAGIC:
            raise NotElfError("is not an ELF file")
        file.seek(0)
        try:
            return _read(str(path), file, interesting)
        except TABLE_ERRORS as error:
            raise NotElfError("is a damaged or truncated ELF file") from error


def _read(path: str, file: BinaryIO, interesting: frozenset[str]) -> Elf:
    elf = ELFFile(file)
    interpreter = ""
    dynamic = False
    for segment in elf.iter_segments():
        kind = segment["p_type"]
        if isinstance(segment, InterpSegment):
            interpreter = segment.get_interp_name()
        dynamic = dynamic or kind == "PT_DYNAMIC"
        if kind == "PT_LOAD" and segment["p_offset"] + segment["p_filesz"] > _size(file):
            raise ELFError("a segment lies beyond the end of the file")
    needed: list[str] = []
    exports: set[str] = set()
    defines: set[str] = set()
    imports: set[str] = set()
    all_symbols = False
    go = False
    for section in elf.iter_sections():
        go = go or section.name in _OF_GO
        all_symbols = all_symbols or section.name == ".symtab"
        if isinstance(section, DynamicSection):
            tags: Iterable[Any] = section.iter_tags()  # pyelftools makes up their attributes
            needed += [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
    for table in symbol_tables(elf):
        found, wanted = table.functions(interesting)
        defines |= found.keys()
        if table.dynamic:
            exports |= found.keys()
            imports |= set(wanted)
    return Elf(
        path=path,
        bits=elf.elfclass,
        machine=str(elf["e_machine"]),
        kind=str(elf["e_type"]),
        interpreter=interpreter,
        dynamic=dynamic,
        needed=needed,
        exports=frozenset(exports),
        defines=frozenset(defines),
        all_symbols=all_symbols,
        imports=frozenset(imports),
        go=go,
    )


def _size(file: BinaryIO) -> int:
    at = file.tell()
    end = file.seek(0, 2)
    file.seek(at)
    return end


class SymbolTable:
    """One of a file's tables of 64-bit symbols.

    Not by pyelftools, which takes seconds for the tables of large programs.
    """

    def __init__(self, section: SymbolTableSection) -> None:
        """Reads the table. Throws what is in `TABLE_ERRORS`."""
        self.dynamic = section.name == ".dynsym"
        """Whether it has what others can find; else all that the file defines."""
        self.strings = bytes(section.stringtable.data())
        """The names, each with a NUL behind it."""
        self._data = bytes(section.data())

    def functions(self, names: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """Return the functions of these names that it defines, with addresses, and those that it wants."""
        return native.named_symbols(self._data, self.strings, list(names))

    def defined(self) -> Iterator[tuple[str, int, int]]:
        """Name, type (as STT_FUNC) and address of all that it defines: a microsecond each."""
        whole = len(self._data) - len(self._data) % _SYMBOL.size
        for begin, info, _, where, address, _ in _SYMBOL.iter_unpack(self._data[:whole]):
            if where != _UNDEFINED:
                name = self.strings[begin : self.strings.find(b"\0", begin)].decode(errors="replace")
                yield name, info & _TYPE, address


def symbol_tables(parsed: ELFFile, *, dynamic: bool = False) -> Iterator[SymbolTable]:
    """The tables of symbols of a file, with `dynamic` that alone of what others can find.

    Throws what is in `TABLE_ERRORS`.
    """
    for section in parsed.iter_sections():
        if not isinstance(section, SymbolTableSection) or section["sh_entsize"] != _SYMBOL.size:
            continue  # 32-bit: refused for its class anyway
        if not dynamic or section.name == ".dynsym":
            yield SymbolTable(section)


def is_go(path: str | Path) -> bool:
    """Whether it is a Go program, by the names of its sections alone. Throws OSError and NotElfError."""
    with opened_regular(path) as file:
        try:
            elf = ELFFile(file)
            return any(elf.get_section_by_name(name) is not None for name in _OF_GO)
        except TABLE_ERRORS as error:
            raise NotElfError("is a damaged or truncated ELF file") from error


def build_id(path: str | Path) -> str:
    """The build's identity in hexadecimal, by which debug files are found; empty if it has none.

    Throws OSError and NotElfError.
    """
    with opened_regular(path) as file:
        try:
            section: Any = ELFFile(file).get_section_by_name(".note.gnu.build-id")
            return "" if section is None else next((str(note.n_desc) for note in section.iter_notes()), "")
        except TABLE_ERRORS as error:
            raise NotElfError("is a damaged or truncated ELF file") from error
