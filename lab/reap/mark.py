"""Marks from Python: where requests begin and end, and which phase the process is in.

The twin of `reap/mark.h`, which says what a mark means. This module measures nothing, needs nothing else of
reap, and may be copied alone into another program. Marks are received by a preloaded listener, such as
reap's; without one they are empty functions.

    from reap import mark

    with mark.request():
        answer(connection)

    mark.phase("warm")

A request belongs to the thread that begins it. Do not mark requests that interleave on one thread, as those
of asyncio do. With a listener, a mark takes about 0.3 us, through ctypes.
"""

import os
from collections.abc import Callable
from types import TracebackType

__all__ = ["listening", "phase", "request", "request_begin", "request_end"]

_TABLE = "reap_mark_listener_1"


def _nothing() -> None:
    """Nobody listens."""


def _no_phase(name: str) -> None:
    """Nobody listens."""


def _look() -> tuple[Callable[[], None], Callable[[], None], Callable[[str], None]] | None:
    """The first entries of the listener's table: request_begin, request_end, phase. None without one."""
    if not os.environ.get("LD_PRELOAD"):
        return None  # a listener is preloaded: without it, ctypes need not be loaded either
    import ctypes

    try:
        table = (ctypes.c_size_t * 3).in_dll(ctypes.PyDLL(None), _TABLE)
    except (ValueError, OSError):
        return None
    # The interpreter's lock is kept: no wait for it is part of a request that waits for nothing.
    call = ctypes.PYFUNCTYPE(None)
    say = ctypes.PYFUNCTYPE(None, ctypes.c_char_p)(table[2])
    # Accepts every value that is accepted without a listener.
    return call(table[0]), call(table[1]), lambda name: say(str(name or "").encode(errors="replace"))


_found = _look()
listening: bool = _found is not None
"""Whether a listener receives the marks."""

request_begin, request_end, _phase = _found or (_nothing, _nothing, _no_phase)


def phase(name: str) -> None:
    """Set the phase of the whole process, for all threads; an empty name ends the phase."""
    _phase(name)


class _Request:
    """A request that lasts for a `with` block. It has no state, so one instance serves all."""

    __slots__ = ()

    def __enter__(self) -> None:
        request_begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        request_end()


_request = _Request()


def request() -> _Request:
    """Return a context manager that marks its `with` block as a request, also if the block raises."""
    return _request
