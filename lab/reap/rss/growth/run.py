"""Observes a server under load, or a running process, for hours; what was seen is appended at once."""

import contextlib
import csv
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from reap.base.errors import ReapError
from reap.base.files import refuse_link
from reap.rss import run as residence
from reap.rss.growth.records import GROUPS, Snapshot

_HINT = "name one that reap rss wrote"


@contextlib.contextmanager
def rows(path: Path, *, resume: bool, force: bool) -> Iterator[TextIO]:
    """The file of all snapshots, new, or with `resume` that of an earlier part, which `snapshots` has read.

    Throws ReapError.
    """
    if not resume:
        with residence.rows(path, force=force) as file:
            yield file
        return
    refuse_link(path)
    try:
        _drop_torn_line(path)
        with path.open("a", newline="") as file:
            yield file
    except OSError as error:
        raise ReapError(f"{path} could not be written: {error.strerror}", "name a file of yours") from error


def snapshots(path: Path) -> list[Snapshot]:
    """Reads a file of snapshots; a last line that a kill has torn is passed over. Throws ReapError."""
    another = ReapError(f"{path} is no file of snapshots", _HINT)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise another
        with path.open(newline="") as file:
            lines = csv.reader(file)
            if next(lines, None) != list(residence.HEADINGS):
                raise another
            return list(_parsed(path, lines))
    except OSError as error:
        raise ReapError(f"{path} could not be read: {error.strerror}", _HINT) from error
    except (UnicodeDecodeError, csv.Error):
        raise another from None


def _parsed(path: Path, lines: Iterator[list[str]]) -> Iterator[Snapshot]:
    for number, line in enumerate(lines, 2):
        try:
            values = dict(zip(residence.HEADINGS, line, strict=True))
            yield Snapshot(
                seconds=float(values["seconds"]),
                pid=int(values["pid"]),
                resident=int(values["resident"]),
                groups={name: sum(int(values[part]) for part in of) for name, of in GROUPS.items()},
            )
        except ValueError as error:
            if next(lines, None) is None:
                return
            raise ReapError(
                f"line {number} of {path} is damaged", "remove that line, and run the command again"
            ) from error


def _drop_torn_line(path: Path) -> None:
    with path.open("rb+") as file:
        whole = file.read()
        if whole and not whole.endswith(b"\n"):
            file.truncate(whole.rfind(b"\n") + 1)
