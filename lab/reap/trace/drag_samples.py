"""Opening what the sampling drag engine wrote: lab/format/reap_drag_samples.h."""

import struct
from pathlib import Path
from typing import Literal

from reap.errors import ReapError
from reap.trace.drag_sample_records import DragSample, DragSamples

_MAGIC = 0x32534D4147415244
_HEADER = struct.Struct("<QIIQQQQQQ256s")
_ROW = struct.Struct("<QQQQdddd")
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
    magic, pid, problem, rows, clock, _reserved, spent, ended, _, program = _HEADER.unpack_from(content)
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
        samples=[
            DragSample(size=size, period=period, birth=birth, death=death, used=used, used_squares=squares)
            for size, period, birth, death, used, squares, _unsure, _unsure_squares in _ROW.iter_unpack(body)
            if size > 0 and period > 0 and birth <= clock
        ],
    )
