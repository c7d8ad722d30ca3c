"""What a search for an allocator's settings found, on a terminal."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.compare import words as compared
from reap.draw.terminal import notes
from reap.tune import words
from reap.tune.records import Finding, Trial, Tuned


def render_tuned(console: Console, tuned: Tuned) -> None:
    """Print what wins, what was tried, and what limits it."""
    console.print(Text(words.title(tuned), style="bold"))
    console.print(Padding(Text(words.look(tuned), style="dim"), (0, 0, 1, 2)))
    for finding in tuned.findings:
        _finding(console, tuned, finding)
    console.print()
    console.print(_trials(tuned))
    for line in (words.made(tuned), words.confirmation(tuned), words.TRIED):
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    if tuned.exit_code:
        console.print(Text(f"  The program itself ended with status {tuned.exit_code}."))
    for trial in tuned.trials:
        if trial.problem:
            given_up = f"! {trial.name} was given up: {trial.problem}"
            console.print(Padding(Text(printable(given_up), style="yellow"), (0, 0, 0, 2)))
    notes(console, tuned.notes)


def _finding(console: Console, tuned: Tuned, finding: Finding) -> None:
    style = "green" if finding.wins else "dim"
    console.print(Padding(Text(printable(words.verdict(finding)), style=style), (0, 0, 0, 2)))
    if finding.wins:
        # A command is never broken into lines: it is there to be pasted.
        console.print(Text(f"      {printable(words.command(tuned, finding))}"), soft_wrap=True)
        for line in (words.about(tuned, finding), words.beside(finding)):
            console.print(Padding(Text(printable(line), style="dim"), (0, 0, 0, 6)))


def _trials(tuned: Tuned) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    metrics = words.metrics(tuned)
    table.add_column("tried", overflow="fold")
    table.add_column("rounds", justify="right")
    for metric in metrics:
        table.add_column(compared.metric_name(metric), justify="right")
    for trial in tuned.trials:
        table.add_row(printable(trial.name), str(trial.rounds), *_scores(trial, metrics))
    return table


def _scores(trial: Trial, metrics: list[str]) -> list[str]:
    return [
        units.ratio(trial.scores[metric]) if metric in trial.scores else units.UNKNOWN for metric in metrics
    ]
