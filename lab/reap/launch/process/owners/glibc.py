"""Tells what glibc's malloc has outside of its main heap, by the heads of heaps and blocks."""

from reap.launch.process.areas import Area
from reap.launch.process.owners.memory import Memory

_HEAP = 64 << 20
"""The largest heap of an arena, and what its first address is a multiple of."""
_MAPPED = 2
"""The bit in the size of a block that has a mapping of its own."""
_PAGE = 4096


def mapped_block(memory: Memory, address: int) -> int:
    """Bytes of a block with a mapping of its own that begins here; 0 for none."""
    words = memory.words(address, 2)
    if words is None:
        return 0
    before, size = words
    whole = size - _MAPPED
    return whole if size & 7 == _MAPPED and whole > 0 and whole % _PAGE == 0 and before < _PAGE else 0


def arenas(memory: Memory, area: Area) -> int:
    """Resident bytes of a mapping that are a heap of an arena, or blocks with a mapping each."""
    if area.begin % _HEAP == 0 and _is_heap(memory, area):
        return area.resident
    at = area.begin
    while at < area.end and (size := mapped_block(memory, at)) and at + size <= area.end:
        at += size
    return area.resident if at == area.end else memory.resident(area.begin, at)


def _is_heap(memory: Memory, area: Area) -> bool:
    """`heap_info` in malloc/arena.c: the arena, which lies in its first heap; the heap before; two sizes."""
    words = memory.words(area.begin, 4)
    if words is None:
        return False
    arena, before, size, writable = words
    inside = area.begin < arena < area.begin + 128
    return size == area.end - area.begin <= writable and (inside or (before > 0 and before % _HEAP == 0))
