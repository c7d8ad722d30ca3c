"""The verdict on a terminal. Without colour nothing is lost."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.compare import analyse, phrases
from reap.draw.terminal import heading
from reap.evidence.judge.records import Diagnosis
from reap.experiment.records import Comparison, Side

COLOURS = {
    "leave it alone": "bold green",
    "switch the allocator": "bold cyan",
    "change a setting": "bold cyan",
    "allocate less": "bold yellow",
    "inconclusive": "bold",
}
"""By conclusion."""
MOST_PATTERNS = 1
"""On a screen."""


def render(console: Console, diagnosis: Diagnosis, *, details: bool = False) -> None:
    """Print the verdict and the next command on a line of its own, ready to be pasted: a screen of 24 lines.

    With `details` the refuted causes, too, and the facts that all rests on stand between them.
    """
    headline = Text("Verdict: ", style="bold")
    headline.append(diagnosis.headline, style=COLOURS[diagnosis.headline])
    console.print(headline)
    console.print(Padding(Text(printable(diagnosis.paragraph)), (0, 0, 0, 2)))
    for found in diagnosis.findings if details else diagnosis.told:
        console.print(Padding(Text(f"- {printable(found.sentence)}"), (0, 0, 0, 2)))
    for seen in diagnosis.patterns[: None if details else MOST_PATTERNS]:
        where = f"{seen.location}: " if seen.location else ""
        said = f"- In the recording: {where}{seen.statement}. By hand: {seen.advice}."
        console.print(Padding(Text(printable(said)), (0, 0, 0, 2)))
    console.print()
    if details:
        for fact in diagnosis.evidence:
            console.print(Padding(Text(f"- {printable(fact.statement)} [{fact.source}]"), (0, 0, 0, 2)))
        console.print()
    console.print(Text("Next: ", style="bold") + Text(printable(diagnosis.next_step)))
    if diagnosis.next_command:
        # Not wrapped: a command that is cut into lines cannot be pasted.
        console.print(Text(f"  {printable(diagnosis.next_command)}", style="bold"), soft_wrap=True)


def render_trials(console: Console, comparisons: Sequence[Comparison]) -> None:
    """Print a line for each arm that ran: its CPU time against the program as it is, in the same rounds."""
    heading(console, "Trials", f"CPU time in runs paired with {comparisons[0].baseline}")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for comparison in comparisons:
        for side in comparison.sides:
            table.add_row(Text(printable(side.allocator)), *map(Text, _row(side)))
        if said := phrases.noise(comparison):
            table.add_row(Text("(noise)", style="dim"), Text(said, style="dim"), Text(""))
    console.print(Padding(table, (0, 0, 0, 2)))


def _row(side: Side) -> tuple[str, str]:
    if not analyse.trusted(side):
        return printable(side.problem) or "its figures cannot be trusted", ""
    ratio = analyse.cpu(side)
    times = f"{units.duration(ratio.value)} for {units.duration(ratio.baseline)}" if ratio.unit == "s" else ""
    return phrases.change_with_interval(ratio.ratio), times
