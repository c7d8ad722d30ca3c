"""Marks from Python: where requests begin and end, and which phase the process is in.

The twin of `reap/mark.h`, which says what a mark means. This module measures nothing, needs nothing else of
reap, and may be copied alone into another program. Marks speak to a listener that was preloaded, as reap's
are; without one they are empty functions, and nothing is looked for.

    from reap import mark

    with mark.request():
        answer(connection)

    mark.phase("warm")

A request belongs to the thread that begins it: of requests that interleave in one thread, as those of asyncio
do, mark those alone that do not. With a listener a mark takes about 0.3 us, through ctypes.
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
    """What the listener's table begins with: request_begin, request_end, phase. None if nobody listens."""
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
    return call(table[0]), call(table[1]), lambda name: say(name.encode(errors="replace"))


_found = _look()
listening: bool = _found is not None
"""Whether marks reach anybody."""

request_begin, request_end, _phase = _found or (_nothing, _nothing, _no_phase)


def phase(name: str) -> None:
    """The process is in the phase `name` from here on, all threads of it; in none with an empty name."""
    _phase(name)


class _Request:
    """A request as long as a `with` block. It keeps nothing, so there is one for all."""

    __slots__ = ()

    def __enter__(self) -> None:
        request_begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        request_end()


_request = _Request()


def request() -> _Request:
    """A request as long as the `with` block that it is given to, however that is left."""
    return _request
