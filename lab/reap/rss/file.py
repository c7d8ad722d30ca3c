"""Reads what libreap-resident.so wrote: what the allocator of a process holds.

The layout is lab/format/reap_resident.h; `_HEAD`, `_VALUES`, `_WALK` and `NAMES` are kept in step.
"""

import struct
from pathlib import Path

from reap.launch.process.records import Said, Walk

VARIABLE = "REAP_RESIDENT"
"""By which a process finds the folder, and how often it is to be asked."""

NAMES: dict[str, tuple[str, ...]] = {
    "": (),
    "glibc": ("arena", "mapped", "used", "free", "fastbins", "top"),
    "jemalloc": ("allocated", "active", "metadata", "resident", "mapped", "retained", "dirty", "muzzy",
                 "thread_caches", "background_thread"),
    "tcmalloc": ("allocated", "heap", "free", "unmapped", "thread_caches", "central_cache", "transfer_cache"),
    "mimalloc": ("committed", "most_committed"),
}  # fmt: skip
"""By kind, in the order of enum reap_resident_kind: what each of its values is."""

_MAGIC = 0x3153455250414552
_VERSION = 1
_HEAD = struct.Struct("<QIIIIQ")
_COUNT = 10
_VALUES = struct.Struct(f"<{_COUNT}Q")
_WALK = struct.Struct(f"<{len(Walk.__struct_fields__)}Q")
_PROVIDER = 256
SIZE = _HEAD.size + _VALUES.size + _WALK.size + _PROVIDER
_UNKNOWN = (1 << 64) - 1
_TRIES = 20


def read(path: Path) -> Said | None:
    """What it says now; None if there is nothing, or it is being written all the time."""
    for _ in range(_TRIES):
        try:
            data, again = path.read_bytes(), path.read_bytes()
        except OSError:
            return None
        if data == again and (said := decode(data)) is not None:
            return said
    return None


def decode(data: bytes) -> Said | None:
    """What the bytes of such a file say; None for what is none, or is half written."""
    if len(data) < SIZE:
        return None
    magic, version, kind, sequence, stopped, stamp = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or sequence % 2 or kind >= len(NAMES):
        return None
    values = _VALUES.unpack_from(data, _HEAD.size)
    walk = _WALK.unpack_from(data, _HEAD.size + _VALUES.size)
    provider = data[SIZE - _PROVIDER : SIZE].partition(b"\0")[0].decode(errors="replace")
    name = list(NAMES)[kind]
    said = {key: value for key, value in zip(NAMES[name], values, strict=False) if value != _UNKNOWN}
    return Said(
        kind=name,
        provider=provider,
        stamp=stamp,
        stopped=stopped == 1,
        values=said if stamp else {},
        walk=Walk(**dict(zip(Walk.__struct_fields__, walk, strict=True))) if walk[0] else None,
    )
