"""Pieces of the terminal's pages: headings, lines, notes, and names with their values."""

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base.text import printable


def heading(console: Console, text: str, remark: str = "") -> None:
    """A line in bold below an empty one, with a remark behind it."""
    console.print()
    console.print(Text(text, style="bold") + Text(f"  {remark}" if remark else "", style="dim"))


def line(console: Console, text: str, style: str = "") -> None:
    """Text, indented. Characters that would steer the terminal are shown instead."""
    console.print(Padding(Text(printable(text), style=style), (0, 0, 0, 2)))


def notes(console: Console, said: Iterable[str]) -> None:
    """What a reader must know, each in yellow behind an exclamation mark."""
    for each in said:
        line(console, f"! {each}", "yellow")


def pairs(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    """A name and its value on each line, indented."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    console.print(Padding(table, (0, 0, 0, 2)))
