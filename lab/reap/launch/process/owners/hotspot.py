"""Finds the heap of a JVM by the table that HotSpot has for its serviceability agent.

`gHotSpotVMStructs` in src/hotspot/share/runtime/vmStructs.cpp: its libjvm.so exports it, in all releases
since 5, and says where the fields of an entry lie.
"""

from collections.abc import Sequence
from pathlib import Path

from reap.allocators import elf
from reap.launch.process.areas import Area
from reap.launch.process.owners.memory import Memory

LIBRARY = "libjvm.so"
_TABLE = "gHotSpotVMStructs"
_ENTRY = "gHotSpotVMStructEntry"
_FIELDS = ("TypeNameOffset", "FieldNameOffset", "OffsetOffset", "AddressOffset", "ArrayStride")
_WANTED = ((b"Universe", b"_collectedHeap"), (b"CollectedHeap", b"_reserved"))
_ENTRIES = 4000


def heap(pid: int, memory: Memory, areas: Sequence[Area]) -> tuple[int, int]:
    """The addresses that are reserved for the heap; 0, 0 where it cannot be read. Some 10 ms."""
    library = next((area for area in areas if area.name.endswith("/" + LIBRARY) and not area.offset), None)
    if library is None:
        return 0, 0
    symbols = _symbols(Path(f"/proc/{pid}/root", library.name.lstrip("/")))
    places = {name: library.begin + value for name, value in symbols.items()}
    fields = _fields(memory, places)
    universe, reserved = (fields.get(key, 0) for key in _WANTED)
    pointer = _word(memory, universe)
    region = memory.words(pointer + reserved, 2) if pointer and reserved else None
    return (region[0], region[0] + 8 * region[1]) if region else (0, 0)


def _symbols(path: Path) -> dict[str, int]:
    """The addresses of the table, and of what describes it, in the file."""
    wanted = {_TABLE, *(_ENTRY + field for field in _FIELDS)}
    try:
        tables = elf.opened(path).symbol_tables(dynamic_only=True)
        return {name: at for table in tables for name, _, at in table.defined() if name in wanted}
    except (OSError, elf.NotElfError):
        return {}


def _word(memory: Memory, address: int) -> int:
    words = memory.words(address, 1) if address and address % 8 == 0 else None
    return words[0] if words else 0


def _fields(memory: Memory, places: dict[str, int]) -> dict[tuple[bytes, bytes], int]:
    """Entries of the table for the fields that are wanted: an address where static, else an offset."""
    if len(places) < 1 + len(_FIELDS):
        return {}
    entry = _word(memory, places[_TABLE])
    kind, name, offset, address, stride = (_word(memory, places[_ENTRY + field]) for field in _FIELDS)
    found: dict[tuple[bytes, bytes], int] = {}
    for _ in range(_ENTRIES if stride else 0):
        words = _word(memory, entry + kind), _word(memory, entry + name)
        if not all(words) or len(found) == len(_WANTED):
            break
        key = memory.string(words[0]), memory.string(words[1])
        if key in _WANTED:
            found[key] = _word(memory, entry + address) or _word(memory, entry + offset)
        entry += stride
    return found
