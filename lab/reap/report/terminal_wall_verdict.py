"""The verdict on the wall on a terminal: the cause, what it rests on, what would help, what was tried."""

import shlex

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from reap.base.text import printable
from reap.report import labels_wall
from reap.wall.judge.records import Remedy, WallVerdict

_COLOURS = {
    "not the wall": "bold green",
    "left of the knee": "bold cyan",
    "right of the knee": "bold yellow",
    "inconclusive": "bold",
}


def render(console: Console, verdict: WallVerdict) -> None:
    """Print the verdict and what would help."""
    headline = Text("Verdict: ", style="bold")
    headline.append(labels_wall.headline(verdict), style=_COLOURS[verdict.regime])
    console.print(headline)
    console.print(Padding(Text(printable(verdict.paragraph)), (0, 0, 1, 2)))
    for fact in verdict.evidence:
        console.print(Padding(Text(f"- {printable(fact.statement)} [{fact.source}]"), (0, 0, 0, 2)))
    if verdict.remedies:
        console.print()
        console.print(Text("What would help", style="bold"))
        for remedy in verdict.remedies:
            console.print(Padding(_remedy(remedy), (0, 0, 0, 2)))


def render_trial(console: Console, verdict: WallVerdict) -> None:
    """Print what came of the remedies; nothing where none was tried."""
    if verdict.trial is None:
        return
    console.print()
    console.print(Text("Tried in pairs with the program as it is", style="bold"))
    for said in verdict.trial.sentences:
        console.print(Padding(Text(f"- {printable(said)}"), (0, 0, 0, 2)))
    console.print(Padding(Text(printable(verdict.trial.conclusion), style="bold"), (0, 0, 0, 2)))


def _remedy(remedy: Remedy) -> Text:
    said = Text(f"- {printable(remedy.name)}", style="bold")
    said.append(f": {printable(remedy.expect)}.", style="not bold")
    for name, value in remedy.environment.items():
        said.append(f"\n    {printable(f'{name}={shlex.quote(value)}')}", style="not bold dim")
    return said
