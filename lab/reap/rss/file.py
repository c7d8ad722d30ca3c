"""Reads what libreap-resident.so wrote: what the allocator of a process holds."""

from pathlib import Path

import msgspec

from reap import native
from reap.base.files import native_name
from reap.launch.process.records import Said

VARIABLE = native.RESIDENT_ENV
"""By which a process finds the folder, and how often it is to be asked."""


def read(path: Path) -> Said | None:
    """What it says now; None if there is nothing, or it is being written all the time."""
    answer = native.read_resident(native_name(path))
    return None if answer is None else msgspec.convert(answer, Said, from_attributes=True)
