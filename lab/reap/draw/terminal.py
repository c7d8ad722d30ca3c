"""Pieces of the terminal's pages: headings, lines, notes, and names with their values."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable


def heading(console: Console, text: str, remark: str = "") -> None:
    """A line in bold below an empty one, with a remark behind it."""
    console.print()
    console.print(Text(text, style="bold") + Text(f"  {remark}" if remark else "", style="dim"))


def line(console: Console, text: str, style: str = "") -> None:
    """Text, indented. Characters that would steer the terminal are shown instead."""
    console.print(Padding(Text(printable(text), style=style), (0, 0, 0, 2)))


def notes(console: Console, said: Iterable[str]) -> None:
    """Prints what a reader must know, each in yellow behind an exclamation mark."""
    for each in said:
        line(console, f"! {each}", "yellow")


def notes_that_fit(console: Console, every: Sequence[str], lines: int) -> None:
    """Print as many notes as so many lines take, and how many more there are."""
    all_fit = sum(note_height(console, each) for each in every) <= lines
    said = every if all_fit else that_fit(console, every, lines - 1)
    notes(console, said)
    if left := len(every) - len(said):
        notes(console, [f"{units.number(left, 'more note' if said else 'note')}: --details"])


def height(console: Console, text: Text) -> int:
    """Return how many lines a text takes, indented by two."""
    return len(text.wrap(console, max(1, console.width - 2)))


def note_height(console: Console, text: str) -> int:
    """Return how many lines a note takes."""
    return height(console, Text(f"! {printable(text)}"))


def that_fit(console: Console, texts: Sequence[str], lines: int) -> list[str]:
    """Return the first of these notes that take at most so many lines together."""
    fitting = []
    for each in texts:
        lines -= note_height(console, each)
        if lines < 0:
            break
        fitting.append(each)
    return fitting


def pairs(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    """A name and its value on each line, indented."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    console.print(Padding(table, (0, 0, 0, 2)))
