"""Opening what the sampling drag engine wrote: lab/format/reap_drag_samples.h."""

import struct
from pathlib import Path
from typing import Literal

from reap import native
from reap.base.errors import ReapError
from reap.drag.sample.samples import DragSample, DragSamples

_MAGIC = 0x33534D4147415244
_HEADER = struct.Struct("<QIIQQQQQQ256s16384s")
_ROW = struct.Struct("<QQQQdddd12Q")
_ADDRESS_BITS = 48
_PROBLEMS: tuple[Literal["", "no memory", "no pagemap", "full"], ...] = (
    "",
    "no memory",
    "no pagemap",
    "full",
)


def read(path: Path) -> DragSamples:
    """Reads the file of one process, whatever ended it. Throws ReapError if it cannot be read or is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReapError(f"the drag samples {path} cannot be read: {error.strerror}") from error
    if not content:
        content = bytes(_HEADER.size)  # killed before its file had a length
    if len(content) < _HEADER.size:
        raise ReapError(f"{path} is no file of drag samples: it is too short")
    magic, pid, problem, rows, clock, text, spent, ended, _, program, names = _HEADER.unpack_from(content)
    # A process that was killed while it made its file has left zeros.
    if (magic != _MAGIC and any(content[: _HEADER.size])) or problem >= len(_PROBLEMS):
        raise ReapError(f"{path} is no file of drag samples, or of another version")
    whole = min(rows, (len(content) - _HEADER.size) // _ROW.size)
    body = memoryview(content)[_HEADER.size : _HEADER.size + whole * _ROW.size]
    return DragSamples(
        pid=pid,
        program=program.partition(b"\0")[0].decode(errors="replace"),
        clock=clock,
        ended=bool(ended),
        problem=_PROBLEMS[problem],
        seconds=spent / 1e9,
        modules=[name.decode(errors="replace") for name in names[:text].split(b"\0")[:-1]],
        samples=[
            DragSample(
                size=size,
                stands=stands,
                birth=birth,
                death=death,
                used=used,
                used_squares=squares,
                stack=tuple(frame for frame in frames if frame),
            )
            for size, stands, birth, death, used, squares, _, _, *frames in _ROW.iter_unpack(body)
            if 0 < size <= stands and birth <= clock
        ],
    )


def frames(file: DragSamples, stack: tuple[int, ...]) -> list[tuple[str, int, str, str, int, bool]]:
    """The frames of a sample's stack, innermost first, as those of a recording. Costs what names cost."""
    found = []
    for frame in stack:
        number, address = frame >> _ADDRESS_BITS, frame & (1 << _ADDRESS_BITS) - 1
        path = file.modules[number - 1] if 0 < number <= len(file.modules) else ""
        found += native.frames_at(path, address)
    return found
