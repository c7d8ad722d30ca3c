"""The file that libreap-requests.so writes: made before a program starts, and read when it has ended."""

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from reap.errors import ReapError
from reap.launch.records import RequestTimes

if TYPE_CHECKING:
    import numpy as np

VARIABLE = "REAP_REQUESTS"
"""By which the preload finds its file."""

# lab/format/reap_requests.h has the law; all of it is words of eight bytes.
_MAGIC = 0x3154535145525052
_BLOCK_MAGIC = 0x4B4C425145525052
_BLOCK_BYTES = 65536
_HEAD = 8
"""Words before a block's requests."""


def prepare(path: Path) -> None:
    """Makes the file for one run. Throws ReapError if there is no room for it."""
    try:
        path.write_bytes(struct.pack("<QQ", _MAGIC, 1).ljust(_BLOCK_BYTES, b"\0"))
    except OSError as error:
        raise ReapError(
            f"the file for request times, {path}, cannot be written: {error.strerror}",
            "set TMPDIR to a folder with room",
        ) from error


def read(path: Path) -> RequestTimes:
    """What the run left behind. Reads the file once; takes some fifty bytes of memory a request.

    A program that removes the file, or writes over it, has no requests, or those that still make sense.
    """
    import numpy as np

    row = _BLOCK_BYTES // 8
    words = np.fromfile(path, dtype="<u8") if path.is_file() else np.empty(0, np.uint64)
    if len(words) < row or words[0] != _MAGIC:
        words = np.zeros(row, np.uint64)
    blocks = words[: len(words) // row * row].reshape(-1, row)
    _, _, lost, unmatched = (int(word) for word in blocks[0, :4])
    begun = [block for block in blocks[1:] if block[0] == _BLOCK_MAGIC and block[2] <= (row - _HEAD) // 2]
    parts = [block[_HEAD : _HEAD + 2 * int(block[2])].reshape(-1, 2) for block in begun]
    stamps = np.concatenate([np.empty((0, 2), np.uint64), *parts])
    stamps = stamps[stamps[:, 0] <= stamps[:, 1]]
    unfinished = sum(block[3] != 0 for block in begun)
    return _times(stamps, unfinished=int(unfinished), unmatched=unmatched, lost=lost)


def _times(stamps: "np.ndarray", *, unfinished: int, unmatched: int, lost: int) -> RequestTimes:
    import numpy as np

    count = len(stamps)
    if count == 0:
        return RequestTimes(
            count=0, per_second=0.0, p50_ns=0, p99_ns=0, p999_ns=0, max_ns=0,
            unfinished=unfinished, unmatched=unmatched, lost=lost,
        )  # fmt: skip
    lasted = np.sort(stamps[:, 1] - stamps[:, 0])
    span = int(stamps[:, 1].max() - stamps[:, 0].min())

    def rank(share: float) -> int:
        return int(lasted[max(int(np.ceil(share * count)) - 1, 0)])

    return RequestTimes(
        count=count,
        per_second=count * 1e9 / max(span, 1),
        p50_ns=rank(0.5),
        p99_ns=rank(0.99),
        p999_ns=rank(0.999),
        max_ns=int(lasted[-1]),
        unfinished=unfinished,
        unmatched=unmatched,
        lost=lost,
    )
