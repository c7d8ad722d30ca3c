"""Reads a process's memory through /proc, where that is allowed to the reader."""

import contextlib
import os
import struct
from types import TracebackType
from typing import Self

_PAGE = 4096
_ENTRY = 8
_PRESENT = 1 << 7
"""In the last byte of an entry."""
_BATCH = 1 << 14
"""Pages that are asked for at once."""


class Memory:
    """The memory of one process, until it executes a program. Where it may not be read, nothing is resident.

    Reading makes nothing resident and brings nothing back from swap: pages that are not present are left
    alone. Some 3 us a call.
    """

    def __init__(self, pid: int) -> None:
        self._memory = _opened(f"/proc/{pid}/mem")
        self._pages = _opened(f"/proc/{pid}/pagemap")

    @property
    def readable(self) -> bool:
        """Whether this process may be read: its user's, or root's."""
        return self._memory >= 0 and self._pages >= 0

    def words(self, address: int, count: int) -> tuple[int, ...] | None:
        """Words of 8 bytes, which lie in one page; None where that page is not present."""
        text = self.text(address, 8 * count)
        return None if text is None else struct.unpack(f"<{count}Q", text)

    def text(self, address: int, size: int) -> bytes | None:
        """Bytes of one page."""
        if not self.readable or not self.resident(address, address + 1):
            return None
        with contextlib.suppress(OSError, OverflowError):
            found = os.pread(self._memory, size, address)
            return found if len(found) == size else None
        return None

    def string(self, address: int, most: int = 64) -> bytes:
        """A string that ends with a zero, in one page; empty for none."""
        size = min(most, _PAGE - address % _PAGE)
        return (self.text(address, size) or b"").partition(b"\0")[0]

    def resident(self, begin: int, end: int) -> int:
        """Bytes of the pages from that of `begin` to that before `end` that are present."""
        if self._pages < 0 or not 0 <= begin < end < 1 << 62:
            return 0
        first, last = begin // _PAGE, -(-end // _PAGE)
        present = 0
        for page in range(first, last, _BATCH):
            with contextlib.suppress(OSError):
                text = os.pread(self._pages, _ENTRY * min(_BATCH, last - page), _ENTRY * page)
                present += sum(byte >= _PRESENT for byte in text[_ENTRY - 1 :: _ENTRY])
        return present * _PAGE

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in (self._memory, self._pages):
            if descriptor >= 0:
                os.close(descriptor)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
