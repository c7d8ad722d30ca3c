"""Results on a terminal. Useful at 80 columns and in a pipe: without colour nothing is lost.

The console decides on width and colour; these functions only print.
"""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.drag.exact import terminal
from reap.experiment.records import Comparison
from reap.recording.records import Profile
from reap.report import labels, terminal_comparison, terminal_profile, terminal_wall, terminal_wall_verdict
from reap.report.records import Answer, Report
from reap.run.records import Diagnosis

_COLOURS = {
    "leave it alone": "bold green",
    "switch the allocator": "bold cyan",
    "allocate less": "bold yellow",
    "inconclusive": "bold",
}


def render_profile(console: Console, profile: Profile) -> None:
    """Print what was recorded: totals, sizes, lifetimes, memory over time, sites, calls, processes, notes."""
    terminal_profile.render(console, profile)


def render_comparison(console: Console, comparison: Comparison) -> None:
    """Print a row for every allocator and one for the noise, and how to read them."""
    terminal_comparison.render(console, comparison)


def render_diagnosis(console: Console, diagnosis: Diagnosis) -> None:
    """Print the verdict, its evidence, and the next command on a line of its own, ready to be pasted."""
    headline = Text("Verdict: ", style="bold")
    headline.append(diagnosis.headline, style=_COLOURS[diagnosis.headline])
    console.print(headline)
    console.print(Padding(Text(printable(diagnosis.paragraph)), (0, 0, 1, 2)))
    for fact in diagnosis.evidence:
        console.print(Padding(Text(f"- {printable(fact.statement)} [{fact.source}]"), (0, 0, 0, 2)))
    console.print()
    console.print(Text("Next: ", style="bold") + Text(printable(diagnosis.next_step)))
    if diagnosis.next_command:
        # Not wrapped: a command that is cut into lines cannot be pasted.
        console.print(Text(f"  {printable(diagnosis.next_command)}", style="bold"), soft_wrap=True)


def render_overview(console: Console, report: Report) -> None:
    """Print a line for each program: its verdict, its share of time, the lowest CPU ratio."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("program", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("in the allocator", justify="right")
    table.add_column("lowest CPU ratio")
    for answer in report.answers:
        headline = answer.diagnosis.headline if answer.diagnosis else units.UNKNOWN
        share, best = labels.share_value(answer), labels.best_ratio(answer)
        table.add_row(
            Text(printable(answer.title)), Text(headline, style=_COLOURS.get(headline, "")), share, Text(best)
        )
    console.print(table)


def render_answer(console: Console, answer: Answer) -> None:
    """Print one program's answer: the verdict first, then what it rests on."""
    console.rule(Text(printable(answer.title)), align="left")
    if answer.diagnosis:
        render_diagnosis(console, answer.diagnosis)
    if answer.wall:
        terminal_wall.render(console, answer.wall)
        console.print()
    if answer.wall_verdict:
        terminal_wall_verdict.render(console, answer.wall_verdict)
        terminal_wall_verdict.render_trial(console, answer.wall_verdict)
    if answer.comparison:
        console.print()
        render_comparison(console, answer.comparison)
    if answer.profile:
        console.print()
        render_profile(console, answer.profile)
    if answer.drag:
        console.print()
        terminal.render(console, answer.drag)
