"""A whole answer on a terminal. Useful at 80 columns and in a pipe: without colour nothing is lost.

The console decides on width and colour; these functions only print.
"""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reap.answer.records import Answer, Report
from reap.answer.view import overview
from reap.base.text import printable
from reap.compare import terminal as compare_terminal
from reap.compare.part import ComparisonPart
from reap.drag.exact import terminal as drag_terminal
from reap.drag.exact.part import DragPart
from reap.evidence import terminal as evidence_terminal
from reap.evidence.part import CausesPart, VerdictPart
from reap.evidence.terminal import COLOURS
from reap.recording.analyse.coverage import sentence
from reap.show import terminal as show_terminal
from reap.show.part import ProfilePart
from reap.wall import terminal as wall_terminal
from reap.wall.part import WallPart


def render_overview(console: Console, report: Report) -> None:
    """Print a line for each program: its verdict, its share of time, the lowest CPU ratio."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("program", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("in the allocator", justify="right")
    table.add_column("lowest CPU ratio")
    for answer in report.answers:
        known = overview(answer)
        headline = Text(known["headline"], style=COLOURS.get(known["headline"], ""))
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
        evidence_terminal.render(console, verdict.diagnosis, details=details)


def _render_details(console: Console, answer: Answer) -> None:
    """Print the tables of every part; a blank line ends each."""
    if wall := answer.part(WallPart):
        wall_terminal.render(console, wall.wall)
        console.print()
    if compared := answer.part(ComparisonPart):
        compare_terminal.render(console, compared.comparison)
        console.print()
    if causes := answer.part(CausesPart):
        compare_terminal.render(console, causes.causes)
        console.print()
    if recorded := answer.part(ProfilePart):
        show_terminal.render(console, recorded.profile, callers=True)
        console.print()
    if dragged := answer.part(DragPart):
        drag_terminal.render(console, dragged.drag)
        console.print()
