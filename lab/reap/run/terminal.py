"""A whole answer on a terminal. Useful at 80 columns and in a pipe: without colour nothing is lost.

The console decides on width and colour; these functions only print.
"""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.answer.records import Answer, Report
from reap.answer.view import overview
from reap.base.text import printable
from reap.compare import terminal as compare_terminal
from reap.compare.part import ComparisonPart
from reap.drag.exact import terminal as drag_terminal
from reap.drag.exact.part import DragPart
from reap.recording.analyse.coverage import sentence
from reap.run.part import VerdictPart
from reap.run.records import Diagnosis
from reap.show import terminal as show_terminal
from reap.show.part import ProfilePart
from reap.wall import terminal as wall_terminal
from reap.wall.part import WallPart

_COLOURS = {
    "leave it alone": "bold green",
    "switch the allocator": "bold cyan",
    "allocate less": "bold yellow",
    "inconclusive": "bold",
}


def render_diagnosis(console: Console, diagnosis: Diagnosis, *, evidence: bool = False) -> None:
    """Print the verdict and the next command on a line of its own, ready to be pasted: a screen of 24 lines.

    With `evidence` the facts that it rests on stand between them.
    """
    headline = Text("Verdict: ", style="bold")
    headline.append(diagnosis.headline, style=_COLOURS[diagnosis.headline])
    console.print(headline)
    console.print(Padding(Text(printable(diagnosis.paragraph)), (0, 0, 1, 2)))
    if evidence:
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
        known = overview(answer)
        headline = Text(known["headline"], style=_COLOURS.get(known["headline"], ""))
        table.add_row(Text(printable(answer.title)), headline, known["share"], Text(known["cpu"]))
    console.print(table)


def render_answer(console: Console, answer: Answer, *, details: bool = True) -> None:
    """Print one program's answer, with `details` what it rests on before it: the verdict ends the screen."""
    console.rule(Text(printable(answer.title)), align="left")
    if details:
        _render_details(console, answer)
    recorded = answer.part(ProfilePart)
    if recorded and recorded.profile.coverage and not details:
        said = f"Coverage: {sentence(recorded.profile.coverage)}"
        console.print(Text(said, style="dim"))
    if verdict := answer.part(VerdictPart):
        render_diagnosis(console, verdict.diagnosis, evidence=details)


def _render_details(console: Console, answer: Answer) -> None:
    """Print the tables of every part; a blank line ends each."""
    wall, compared = answer.part(WallPart), answer.part(ComparisonPart)
    comparison = compared.comparison if compared else wall.comparison if wall else None
    if wall:
        wall_terminal.render(console, wall.wall)
        console.print()
    if wall and wall.wall_verdict:
        wall_terminal.render_verdict(console, wall.wall_verdict)
        wall_terminal.render_trial(console, wall.wall_verdict)
        console.print()
    if comparison:
        compare_terminal.render(console, comparison)
        console.print()
    if recorded := answer.part(ProfilePart):
        show_terminal.render(console, recorded.profile, callers=True)
        console.print()
    if dragged := answer.part(DragPart):
        drag_terminal.render(console, dragged.drag)
        console.print()
