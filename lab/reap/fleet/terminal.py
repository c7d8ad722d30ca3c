"""Totals of many recordings as a page of text."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base.text import printable
from reap.draw.terminal import heading, line, notes
from reap.fleet import words
from reap.fleet.records import Comparison, Fleet

_GROUPS = 20
_SITES = 15
_LEAST = 10
"""Letters of a line for names, so that 80 are enough."""
_STYLES = {"grew": "yellow", "shrank": "blue", "the same": "", "inconclusive": "dim"}


def render(console: Console, fleet: Fleet) -> None:
    """Print the groups, what they are from, and the comparison last."""
    heading(console, f"Allocation by {fleet.by}", "per recorded second; largest first")
    hidden = 1 if fleet.by == "site" else None  # hosts: a site's name takes their room
    rows = [
        ([*words.labels(each, fleet.by), *_without(words.figures(each, fleet), hidden)], "")
        for each in fleet.groups[:_GROUPS]
    ]
    _table(console, words.HEADINGS[fleet.by], _without(words.FIGURES, hidden), rows)
    more = len(fleet.groups) + fleet.left_out - len(rows)
    if more > 0:
        line(console, f"... and {more} more; --json and --html have {len(fleet.groups)} in all", "dim")
    line(console, words.provenance(fleet), "dim")
    notes(console, words.notes(fleet))
    if fleet.comparison is not None:
        _comparison(console, fleet.comparison)


def _without(cells: Sequence[str], hidden: int | None) -> list[str]:
    return [cell for place, cell in enumerate(cells) if place != hidden]


def _comparison(console: Console, found: Comparison) -> None:
    versions = printable(f"{found.service}: from {found.before} to {found.after}")
    heading(console, versions, f"{found.measure}, largest change first")
    changed = [("all sites", found.total)] + [
        (words.site(each.function, each.module, each.location), each.change) for each in found.sites[:_SITES]
    ]
    rows = [
        ([label, *words.change_row(change, found.measure)[1:]], _STYLES[change.verdict])
        for label, change in changed
    ]
    _table(console, ("Site",), words.CHANGES[1:], rows)
    if len(found.sites) > _SITES:
        line(console, f"... and {len(found.sites) - _SITES} more; --json and --html have them", "dim")
    line(console, words.compared_from(found), "dim")
    console.print()
    for number, sentence in enumerate(words.verdict(found)):
        line(console, sentence, "" if number else "bold")


def _table(
    console: Console, labels: Sequence[str], figures: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]
) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in labels:
        table.add_column(name, overflow="fold", min_width=_LEAST // len(labels))
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    for cells, style in rows:
        table.add_row(*(Text(cell, style=style) for cell in cells))
    console.print(Padding(table, (0, 0, 0, 2)))
