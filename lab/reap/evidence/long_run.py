"""Words on runs that take long, and what may be done about them."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from reap.base import units

LONG = 60
"""Seconds, from which on it is worth a word how long a run takes."""


@contextlib.contextmanager
def told(say: Callable[[str], None]) -> Iterator[None]:
    """Say of a run inside it that takes LONG what may be done about it."""
    said = f"it still runs after {LONG} s: Ctrl-C ends it, and the verdict is on the time until then"
    timer = threading.Timer(LONG, say, [said])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def another(seconds: float) -> str:
    """Name another run of a program that took so many seconds: `another run`, and how long, where it is."""
    long = f", which takes about as long ({units.duration(seconds)})" if seconds >= LONG else ""
    return f"another run{long}"
