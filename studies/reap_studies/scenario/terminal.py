"""A scenario and what came of it, as a page of text."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.api import printable
from reap_studies.scenario.judge import Judged
from reap_studies.scenario.records import Played
from reap_studies.scenario.table import settings, table

_STYLES = {"holds": "green", "holds partly": "yellow", "does not hold": "red"}


def render(console: Console, played: Played, judged: Sequence[Judged]) -> None:
    """Print the story, the remedies side by side, how to have each, and what is said of it."""
    scenario = played.scenario
    console.print(Text(f"{scenario.title}: {scenario.story}", style="bold"))
    headings, rows = table(played)
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings):
        last = scenario.kind == "memory" and number == len(headings) - 1
        shown.add_column(heading, justify="left" if number == 0 or last else "right", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    console.print(Padding(shown, (1, 0, 1, 2)))
    said = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("what is said", "here it", "measured here"):
        said.add_column(heading, overflow="fold")
    for each in judged:
        said.add_row(each.claim, Text(each.standing, style=_STYLES.get(each.standing, "")), each.answer)
    console.print(Padding(said, (0, 0, 1, 2)))
    for words in settings(played):
        console.print(Padding(Text(words, style="dim"), (0, 0, 0, 2)))


def render_list(console: Console, scenarios: Sequence[tuple[str, str]]) -> None:
    """Names and stories."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, story in scenarios:
        shown.add_row(Text(name, style="bold"), story)
    console.print(shown)
