"""Finds the arenas of CPython's small-object allocator by the heads of their pools.

Layout: `struct pool_header` in Objects/obmalloc.c, unchanged since 2.3 but for the size of a pool: 4 KiB, and
16 KiB from 3.10 on. An arena has no head, and lies beside others and beside malloc's large blocks in one
mapping.
"""

import struct

from reap.launch.process.areas import Area
from reap.launch.process.owners.memory import Memory

_STEP = 16 << 10
_HEAD = struct.Struct("<4Q4I")
_POOLS = (4 << 10, 16 << 10)
_CLASSES, _ALIGNMENT = 64, (8, 16)
_STRIDE, _SAMPLES = 64 << 10, 128
"""Bytes between places that are looked at, and places in a mapping, evenly over it: an error of some 4 % of a
mapping of which half is CPython's."""


def arenas(memory: Memory, area: Area) -> int:
    """Resident bytes of a mapping that are CPython's, by the share of sampled places with the head of a pool.

    Some 6 us a sample.
    """
    first = -(-area.begin // _STEP) * _STEP
    stride = _STRIDE * max(1, (area.end - first) // _STRIDE // _SAMPLES)
    seen = pools = 0
    for address in range(first, area.end - _HEAD.size, stride):
        text = memory.text(address, _HEAD.size)
        seen += text is not None
        pools += text is not None and _is_pool(address, text)
    return area.resident * pools // seen if seen else 0


def _is_pool(address: int, text: bytes) -> bool:
    _, free, following, before, _, index, offset, largest = _HEAD.unpack(text)
    if index >= _CLASSES or not following or not before:
        return False
    for alignment in _ALIGNMENT:
        size = largest + (index + 1) * alignment
        if size in _POOLS and _HEAD.size <= offset <= size:
            return bool(free == 0 or address <= free < address + size)
    return False
