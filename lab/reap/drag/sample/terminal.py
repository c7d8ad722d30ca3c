"""Report on sampled drag, as text."""

import shlex
from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base.text import printable
from reap.drag.sample.records import SampledDrag
from reap.drag.sample.words import process_notes, process_row, site_rows, verdict
from reap.draw.terminal import line, notes, notes_that_fit

_MOST_PROCESSES = 10
_MOST_SITES = 10
_NOTES = 8
"""Lines of notes beside a verdict."""
_WIDTH = 36
"""Characters of a name."""
_COLUMNS = ("process", "allocated", "samples", "drag [95 % CI]", "peak, about")
_SITES = ("of all drag [95 %]", "site", "bytes", "samples")


def render_verdict(console: Console, sampled: SampledDrag) -> None:
    """Print what the process that allocated most drags, and where, on a screen of 24."""
    said, *more = verdict(sampled.processes)
    console.print(Text("Verdict: ", style="bold").append(said, style="bold cyan"))
    for each in more:
        line(console, each)
    first = sampled.processes[:1]
    own = [note for process in first for note in process_notes(process)]
    notes_that_fit(console, [*own, *sampled.notes], _NOTES)


def render(console: Console, sampled: SampledDrag) -> None:
    """Print a row for each process, what must be known of it, and the sites of the first."""
    console.print(Text("Drag (sampled): memory held after its last use", style="bold"))
    console.print(Text(f"  {printable(shlex.join(sampled.command))}", style="dim"), soft_wrap=True)
    shown = sampled.processes[:_MOST_PROCESSES]
    _table(console, _COLUMNS, map(process_row, shown))
    left = len(sampled.processes) - _MOST_PROCESSES
    if left > 0:
        notes(console, [f"{left} more processes, which allocated less, are in the JSON"])
    for process in shown:
        notes(console, [f"{process.pid}: {note}" for note in process_notes(process)])
    notes(console, sampled.notes)
    # The first that has any: a shell that only starts others may allocate most.
    if with_sites := next((each for each in shown if each.sites), None):
        line(console, f"allocation sites of process {with_sites.pid}:")
        rows = [
            [share, function if function == location else f"{function}\n  {location}", size, samples]
            for _, (share, function, location, size, samples) in site_rows(with_sites, _MOST_SITES, _WIDTH)
        ]
        _table(console, _SITES, rows)


def _table(console: Console, columns: Iterable[str], rows: Iterable[list[str]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            column, justify="left" if column in ("process", "site") else "right", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(Padding(table, (1, 0, 0, 2)))
