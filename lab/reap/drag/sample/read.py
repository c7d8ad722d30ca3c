"""Opening what the sampling drag engine wrote: lab/format/reap_drag_samples.h."""

from pathlib import Path

import msgspec

from reap import native
from reap.base.errors import ReapError
from reap.base.files import native_name
from reap.drag.sample.samples import DragSamples

_ADDRESS_BITS = 48


def read(path: Path) -> DragSamples:
    """Reads the file of one process, whatever ended it. Throws ReapError if it cannot be read or is none."""
    try:
        file = native.read_drag_samples(native_name(path))
    except OSError as error:
        raise ReapError(f"the drag samples {path} cannot be read: {error.strerror}") from error
    except native.BadTraceError as error:
        raise ReapError(f"{path} {error}") from error
    return msgspec.convert(file, DragSamples, from_attributes=True)


def frames(file: DragSamples, stack: tuple[int, ...]) -> list[tuple[str, int, str, str, int, bool]]:
    """The frames of a sample's stack, innermost first, as those of a recording. Costs what names cost."""
    found = []
    for frame in stack:
        number, address = frame >> _ADDRESS_BITS, frame & (1 << _ADDRESS_BITS) - 1
        path = file.modules[number - 1] if 0 < number <= len(file.modules) else ""
        found += native.frames_at(path, address)
    return found
