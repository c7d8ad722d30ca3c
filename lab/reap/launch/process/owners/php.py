"""Finds the memory of PHP's engine: chunks of 2 MiB, and blocks at multiples of that.

Layout: `struct _zend_mm_chunk` in Zend/zend_alloc.c, unchanged since PHP 7.0.
"""

from reap.launch.process.areas import Area
from reap.launch.process.owners.glibc import mapped_block
from reap.launch.process.owners.memory import Memory

_CHUNK = 2 << 20


def chunks(memory: Memory, area: Area) -> int:
    """Resident bytes of a mapping that are the engine's."""
    total, at = 0, -(-area.begin // _CHUNK) * _CHUNK
    while at < area.end:
        if _is_chunk(memory, at):
            end = at + _CHUNK
        elif size := mapped_block(memory, at):
            at += -(-size // _CHUNK) * _CHUNK
            continue
        else:
            end = _end_of_block(memory, at + _CHUNK, area.end)
        total += memory.resident(at, min(end, area.end))
        at = end
    return total


def _end_of_block(memory: Memory, at: int, end: int) -> int:
    while at < end and not _is_chunk(memory, at):
        at += _CHUNK
    return at


def _is_chunk(memory: Memory, address: int) -> bool:
    """A chunk names the heap, which lies in one, and its neighbours in a ring."""
    words = memory.words(address, 3)
    if words is None:
        return False
    heap, following, before = words
    ring = bool(following and before) and not (following % _CHUNK or before % _CHUNK)
    return ring and 0 < heap % _CHUNK < 4096
