"""Findings that are tables, as one HTML page that needs nothing else."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reap.base.files import write_safely
from reap.base.records import Record
from reap.base.text import command_line
from reap.draw import html
from reap.draw.figure import Charts, Figure
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
    figure: tuple[Figure, Record] | None = None,
) -> None:
    """Writes a page that begins with `sentences` as its verdict. Throws ReapError.

    `figure` is drawn below the tables, from its record.
    """
    words: dict[str, object] = {
        "title": title,
        "sentences": sentences,
        "tables": [table for table in tables if table.rows],
        "notes": notes,
        "made_by": command_line(["reap", *sys.argv[1:]]),
        "machine": machine_rows(machine.describe()),
    }
    charts = Charts()
    chart = charts.add(*figure) if figure else None
    page = html.figured_page("commandline/tables.html.j2", charts, chart=chart, **words)
    write_safely(path, page.encode(), force=force)
