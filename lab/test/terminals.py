"""Output of a terminal as text, and commands in a terminal of their own."""

import contextlib
import fcntl
import io
import os
import pty
import re
import select
import struct
import termios
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from programs import reap_command
from rich.console import Console

LEAVES = b"\x1b[?1049l"
"""Sequence that leaves the alternate screen: behind it is what the user keeps."""


def printed(draw: Callable[..., None], held: object, width: int = 80, **options: Any) -> str:
    """What `draw` prints of it."""
    out = io.StringIO()
    draw(Console(file=out, width=width, **options), held)
    return out.getvalue()


def flat(shown: str) -> str:
    """Without the breaks that a width makes."""
    return re.sub(r"\s+", " ", shown)


class Terminal:
    """The command `reap` in a terminal of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: it executes at once
            self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ["TERM"] = "xterm-256color"
            command = [*reap_command(), *words]
            os.execv(command[0], command)  # noqa: S606
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        self.seen = b""

    def types(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def waits(self, word: bytes) -> None:
        until = time.monotonic() + 60
        while word not in self.seen:
            assert time.monotonic() < until, self.seen
            self._read()

    def ends(self) -> int:
        """Waits for its end; returns its exit code."""
        until = time.monotonic() + 60
        with contextlib.suppress(OSError):  # the other side is closed
            while True:
                assert time.monotonic() < until, self.seen
                self._read()
        _, status = os.waitpid(self.pid, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> None:
        if select.select([self._terminal], [], [], 1)[0]:
            chunk = os.read(self._terminal, 1 << 16)
            if not chunk:
                raise OSError
            self.seen += chunk
