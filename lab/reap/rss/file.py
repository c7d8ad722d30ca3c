"""Reads what libreap-resident.so wrote: what the allocator of a process holds."""

from pathlib import Path

import msgspec

from reap import native
from reap.base.files import native_name
from reap.launch.process.records import Said

VARIABLE = native.RESIDENT_ENV
"""By which a process finds the folder, and how often it is to be asked."""


def read(path: Path) -> Said | None:
    """Reads the latest report; None if there is none, or it is being written all the time."""
    answer = native.read_resident(native_name(path))
    return None if answer is None else msgspec.convert(answer, Said, from_attributes=True)


def request(path: Path, token: int, functions: list[tuple[str, int]]) -> bool:
    """Has our thread in the process call these statistics functions, too: an allocator's name, an address.

    The token is of what was read before the addresses were looked up. False where it is not possible.
    """
    return native.request_resident(native_name(path), token, functions)
