"""Standard input, to be spooled so that every run reads the same."""

import contextlib
import os
import select
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from reap.base.text import command_line

_CHUNK = 1 << 20
_PATIENCE = 1.0
"""Seconds of silence before we say what we wait for."""


def spooled() -> Iterator[bytes] | None:
    """The bytes of standard input, or None where there is none to spool: a terminal, /dev/null, closed."""
    if sys.stdin is None or sys.stdin.closed:
        return None
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return None
    # A character device is a terminal or /dev/null; an endless one (/dev/zero) could not be spooled anyway.
    return None if stat.S_ISCHR(mode) else _read(sys.stdin.fileno())


@contextlib.contextmanager
def spooled_file(*, spool: bool) -> Iterator[str]:
    """A file with standard input, where several runs are to read it; empty where one has it as it is."""
    chunks = spooled() if spool else None
    if chunks is None:
        yield ""
        return
    with tempfile.NamedTemporaryFile(prefix="reap-stdin-") as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        yield file.name


def with_input(line: str, command: Sequence[str]) -> str:
    """The line with ` <FILE` behind the measured command in it, where that is a regular file here.

    So a line that is pasted into a shell gives the command what it read now.
    """
    program = command_line(list(command))
    if not program or program not in line or not (file := _file()):
        return line
    head, _, tail = line.rpartition(program)
    return f"{head}{program} <{command_line([file])}{tail}"


def _file() -> str:
    """The file that standard input is, by a short name; empty where it is no regular file with one."""
    try:
        if not stat.S_ISREG(os.fstat(0).st_mode):
            return ""
        path = Path("/proc/self/fd/0").readlink()
        if not path.exists():  # deleted
            return ""
        return path.name if path.parent == Path.cwd() else str(path)
    except OSError:
        return ""


def _read(descriptor: int) -> Iterator[bytes]:
    # Somebody who forgot that standard input is an open pipe must learn why nothing happens.
    if not select.select([descriptor], [], [], _PATIENCE)[0]:
        click.echo(
            "reading standard input to its end, to give it to every run (</dev/null if there is none)",
            err=True,
        )
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk
