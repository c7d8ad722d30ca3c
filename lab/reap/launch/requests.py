"""The file that libreap-requests.so writes: made before a program starts, and read when it has ended."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reap.base.errors import ReapError
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
_MOST = (_BLOCK_BYTES - 8 * _HEAD) // 16
"""Requests of a block."""


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
    """What the run left behind. Reads the file once; takes some sixteen bytes of memory a request.

    A program that removes the file, or writes over it, has no requests, or those that still make sense.
    """
    import numpy as np

    blocks = _blocks(path)
    head, _ = next(blocks, (None, None))
    if head is None or head[0] != _MAGIC:
        return RequestTimes(count=0, per_second=0.0, p50_ns=0, p99_ns=0, p999_ns=0, max_ns=0)
    _, _, lost, unmatched, unfinished = (int(word) for word in head[:5])
    parts, spans = [], []
    for block, stamps in blocks:
        unfinished += int(block[3] != 0)
        sound = stamps[stamps[:, 0] <= stamps[:, 1]]
        if len(sound):
            parts.append(sound[:, 1] - sound[:, 0])
            spans.append((int(sound[:, 0].min()), int(sound[:, 1].max())))
    lasted = np.concatenate([np.empty(0, np.uint64), *parts])
    lasted.sort()
    seconds = (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 1e9 if spans else 0.0

    def rank(share: float) -> int:
        return int(lasted[max(int(np.ceil(share * len(lasted))) - 1, 0)]) if len(lasted) else 0

    return RequestTimes(
        count=len(lasted),
        per_second=len(lasted) / max(seconds, 1e-9),
        p50_ns=rank(0.5),
        p99_ns=rank(0.99),
        p999_ns=rank(0.999),
        max_ns=rank(1),
        unfinished=unfinished,
        unmatched=unmatched,
        lost=lost,
    )


def _blocks(path: Path) -> Iterator[tuple["np.ndarray", "np.ndarray"]]:
    """The first words of each block and its requests, by row; of the first block and of damaged ones none.

    What was reserved and not used is passed over, unread.
    """
    import numpy as np

    if not path.is_file():
        return
    size = path.stat().st_size
    with path.open("rb") as file:
        for start in range(0, size - size % _BLOCK_BYTES, _BLOCK_BYTES):
            file.seek(start)
            head = np.frombuffer(file.read(8 * _HEAD), dtype="<u8")
            if start > 0 and (head[0] != _BLOCK_MAGIC or head[2] > _MOST):
                continue
            stamps = file.read(16 * int(head[2])) if start > 0 else b""
            yield head, np.frombuffer(stamps, dtype="<u8").reshape(-1, 2)
