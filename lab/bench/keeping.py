"""Results of a bench in a file, a line of JSON each: a bench that was stopped goes on where it was."""

import os
from pathlib import Path
from typing import TypeVar

from reap.base.records import Record
from reap.experiment import folder

Line = TypeVar("Line", bound=Record)


def resume(file: Path, kind: type[Line]) -> list[Line]:
    """What it has, which may be nothing. A last line that a kill cut short is taken off it.

    Throws ReapError where an earlier one is damaged.
    """
    if not file.exists():
        return []
    lines, whole = folder.read_lines(file, kind)
    os.truncate(file, whole)
    return lines


def append(file: Path, line: Record) -> None:
    """Keeps one; when this returns it survives a kill."""
    with file.open("ab", buffering=0) as log:
        folder.append_line(log, line)
