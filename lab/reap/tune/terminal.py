"""Results of a search for an allocator's settings, on a terminal."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.compare import phrases
from reap.compare import words as compared
from reap.draw.terminal import line, notes, notes_that_fit
from reap.tune import words
from reap.tune.records import Finding, Trial, Tuned

NOTES = 8
"""Lines of notes beside a verdict without a winner ..."""

WINNER = 3
"""... and how many fewer for each, whose setting is described."""


def render_tables(console: Console, tuned: Tuned) -> None:
    """Print what the first run showed, what was tried, and how ratios were made."""
    console.print(Padding(Text(words.look(tuned), style="dim"), (0, 0, 1, 2)))
    console.print(_trials(tuned))
    for said in (words.made(tuned), words.confirmation(tuned), words.TRIED):
        line(console, said, "dim")
    for trial in tuned.trials:
        if trial.problem:
            notes(console, [f"{trial.name} was given up: {trial.problem}"])
    notes(console, tuned.notes)
    console.print()


def render_verdict(console: Console, tuned: Tuned) -> None:
    """Print what wins, and what limits it: no more than fits on a screen."""
    headline = Text(printable(words.headline(tuned)), style="bold cyan")
    console.print(Text("Verdict: ", style="bold").append(headline))
    line(console, words.title(tuned), "dim")
    for finding in tuned.findings:
        _finding(console, tuned, finding)
    line(console, words.basis(tuned), "dim")
    line(console, words.BEYOND, "dim")
    if load := words.load(tuned):
        line(console, load, "dim")
    if tuned.exit_code:
        line(console, f"The program itself ended with {phrases.status(tuned.exit_code, tuned.last_words)}.")
    given_up = sum(1 for trial in tuned.trials if trial.problem)
    said = [*([f"{units.number(given_up, 'setting')} given up: --details"] if given_up else []), *tuned.notes]
    notes_that_fit(console, said, NOTES - WINNER * sum(finding.gains for finding in tuned.findings))


def _finding(console: Console, tuned: Tuned, finding: Finding) -> None:
    style = "green" if finding.wins else "dim"
    console.print(Padding(Text(printable(words.verdict(finding)), style=style), (0, 0, 0, 2)))
    if finding.gains:
        # A command is never broken into lines: it is there to be pasted.
        console.print(Text(f"      {printable(words.command(tuned, finding))}"), soft_wrap=True)
        for said in (words.about(tuned, finding), words.beside(finding)):
            console.print(Padding(Text(printable(said), style="dim"), (0, 0, 0, 6)))


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
