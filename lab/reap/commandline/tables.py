"""Findings that are tables, as one HTML page that needs nothing else and runs nothing."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import markupsafe

from reap.base.files import write_safely
from reap.base.text import command_line
from reap.draw import html
from reap.launch.host import machine
from reap.launch.host.rows import machine_rows


@dataclass(frozen=True)
class Sheet:
    """A table of a page: the first cell of a row names it."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def write_page(
    path: Path,
    title: str,
    sentences: Sequence[str],
    tables: Sequence[Sheet],
    *,
    force: bool,
    notes: Sequence[str] = (),
    drawing: str = "",
    drawn: str = "",
) -> None:
    """Writes a page that begins with `sentences` as its verdict. Throws ReapError.

    `drawing` is an SVG of ours, in which every word is escaped, and `drawn` says what it is of.
    """
    page = html.page(
        "tables.html.j2",
        title=title,
        sentences=sentences,
        tables=[table for table in tables if table.rows],
        notes=notes,
        drawing=markupsafe.Markup(drawing),  # noqa: S704
        drawn=drawn,
        made_by=command_line(["reap", *sys.argv[1:]]),
        machine=machine_rows(machine.describe()),
    )
    write_safely(path, page.encode(), force=force)
