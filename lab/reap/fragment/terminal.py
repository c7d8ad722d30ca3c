"""A run on a fragmented heap as a page of text."""

import shlex

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.draw.terminal import line, notes
from reap.fragment import words
from reap.fragment.run import FragmentRun


def render(console: Console, result: FragmentRun) -> None:
    """Print what the heap was littered with, what that cost, and what the program cost after it."""
    console.print(Text(words.title(result), style="bold"))
    console.print(Text(f"  {printable(shlex.join(result.command))}", style="dim"), soft_wrap=True)
    for said in words.heap(result):
        line(console, said)
    _costs(console, result)
    line(console, words.kept(result))
    if result.heap is not None:
        line(console, words.index(result.heap))
    line(console, f"malloc from {printable(result.provider) or units.UNKNOWN}")
    notes(console, result.notes)


def _costs(console: Console, result: FragmentRun) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in words.COSTS:
        table.add_column(heading, justify="right")
    for row in words.costs(result):
        table.add_row(*(Text(cell) for cell in row))
    console.print(Padding(table, (1, 0, 1, 2)))
