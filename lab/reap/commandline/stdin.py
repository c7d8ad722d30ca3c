"""Standard input, to be spooled so that every run reads the same."""

import os
import select
import stat
import sys
from collections.abc import Iterator

import click

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


def _read(descriptor: int) -> Iterator[bytes]:
    # Somebody who forgot that standard input is an open pipe must learn why nothing happens.
    if not select.select([descriptor], [], [], _PATIENCE)[0]:
        click.echo(
            "reading standard input to its end, to give it to every run (</dev/null if there is none)",
            err=True,
        )
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk
