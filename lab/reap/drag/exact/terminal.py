"""Drag as a page of text."""

import shlex

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import text, units
from reap.base.text import printable
from reap.drag.exact.records import DragLevel, DragProcess, DragProfile, DragSite
from reap.drag.exact.words import (
    drawn,
    headline,
    peak_rows,
    process_title,
    savings_rows,
    site_rows,
    unused_rows,
    verdict,
)
from reap.draw.terminal import line, notes, notes_that_fit

_WIDTH, _BESIDE = 60, 20
"""Of a curve, and of what stands before and behind it."""
_MOST_PROCESSES = 5
_MOST_SITES = 10
_SITES_OF_VERDICT, _NOTES = 3, 4
"""Sites, and lines of notes, that leave the rest of a verdict on a screen."""
_SITES = ["dragged", "site", "bytes", "at the peak"]


def render_verdict(console: Console, profile: DragProfile) -> None:
    """Print what the process that allocated most holds and does not need, and where: on a screen of 24."""
    if not profile.processes:
        console.print(Text("Verdict: no process of it allocated anything", style="bold"))
        notes_that_fit(console, profile.notes, _NOTES)
        return
    process = profile.processes[0]
    level = process.levels[0]
    console.print(Text("Verdict: ", style="bold").append(verdict(process), style="bold cyan"))
    line(console, f"{headline(level)}.")
    _curves(console, level)
    _table(console, _SITES, [_site(site, row) for site, row in site_rows(level, _SITES_OF_VERDICT)])
    if others := len(profile.processes) - 1:
        line(console, f"{units.many(others, 'more process', 'es')}: --details", "dim")
    notes_that_fit(console, [*process.notes, *profile.notes], _NOTES)


def render(console: Console, profile: DragProfile) -> None:
    """Print for each process its drag, its peaks, its two curves and the sites behind the difference."""
    console.print(Text("Drag: memory held after its last use", style="bold"))
    console.print(Text(f"  {printable(shlex.join(profile.command))}", style="dim"), soft_wrap=True)
    for process in profile.processes[:_MOST_PROCESSES]:
        _process(console, process)
    if not profile.processes:
        line(console, "no process of it allocated anything")
    left = len(profile.processes) - _MOST_PROCESSES
    if left > 0:
        line(console, f"{left} more processes, which allocated less, are in the JSON")
    notes(console, profile.notes)


def _process(console: Console, process: DragProcess) -> None:
    console.print()
    console.print(Text(process_title(process), style="bold"), soft_wrap=True)
    line(console, f"{headline(process.levels[0])}.")
    _table(console, ["", "drag", "peak", "freed at once", "increase"], peak_rows(process.levels))
    shown = drawn(process.levels)
    for level, words in shown:
        if len(shown) > 1:
            line(console, words)
        _curves(console, level)
        if level.name == "objects":
            _sites(console, level)
    level = process.levels[0]
    for what, said in unused_rows(level):
        line(console, f"{what}: {said}")
    notes(console, process.notes)


def _sites(console: Console, level: DragLevel) -> None:
    _table(
        console,
        _SITES,
        [_site(site, row) for site, row in site_rows(level, _MOST_SITES)],
    )
    savings = [[saved, _place(*where)] for saved, *where in savings_rows(level, _MOST_SITES)]
    _table(console, ["peak falls by", "if freed early"], savings)


def _site(site: DragSite, row: list[str]) -> list[str]:
    share, function, location, *figures = row
    return [f"{share:>6} {text.bar(site.share, 8):8}", _place(function, location), *figures]


def _place(function: str, location: str) -> str:
    """Both in a cell of two lines: a column for each is too narrow for either."""
    return function if function == location else f"{function}\n  {location}"


def _curves(console: Console, level: DragLevel) -> None:
    if not level.curve or not level.peak:
        return
    end = float(level.total.bytes)
    width = max(8, min(_WIDTH, console.width - _BESIDE))
    for name, points in (
        ("in use", [(point.at, point.most_live) for point in level.curve]),
        ("needed", [(point.at, point.most_needed) for point in level.curve]),
    ):
        drawn = text.sparkline(text.resample(points, width, end), float(level.peak))
        line(console, f"{name}  {drawn}  {units.size(max(value for _, value in points))}")
    line(console, f"        over {units.size(end)} allocated")


def _table(console: Console, columns: list[str], rows: list[list[str]]) -> None:
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    numbers = {"drag", "peak", "freed at once", "increase", "bytes", "at the peak", "peak falls by"}
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(Padding(table, (1, 0, 0, 2)))
