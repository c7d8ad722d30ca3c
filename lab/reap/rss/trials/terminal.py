"""Remedies that were tried, on a terminal."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from reap.base.text import printable
from reap.draw.terminal import line, notes
from reap.rss.trials import words
from reap.rss.trials.records import Trials


def render(console: Console, trials: Trials) -> None:
    """Print what each remedy gives, how it is applied, and what was not tried."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    name, *figures, effect = words.HEADINGS
    table.add_column(name)
    for each in figures:
        table.add_column(each, justify="right")
    table.add_column(effect)
    for row in words.rows(trials):
        table.add_row(*map(printable, row))
    console.print(Padding(table, (1, 0, 1, 2)))
    for said in words.requests(trials):
        line(console, said)
    for said in words.settings(trials.tried):
        line(console, said)
    for said in words.not_tried(trials):
        line(console, said, "dim")
    line(console, words.basis(trials), "dim")
    notes(console, trials.notes)
