"""The verdict on a terminal. Without colour nothing is lost."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.compare import analyse, phrases
from reap.draw.terminal import heading
from reap.evidence.judge.records import Diagnosis
from reap.experiment.records import Comparison, Side
from reap.recording.records import Pattern

COLOURS = {
    "leave it alone": "bold green",
    "switch the allocator": "bold cyan",
    "change a setting": "bold cyan",
    "change a setting or the allocator": "bold cyan",
    "allocate less": "bold yellow",
    "little to gain": "bold green",
    "inconclusive": "bold",
}
"""By conclusion."""
MOST_PATTERNS = 2
"""On a screen."""
_LINES = 17
"""Of a verdict, its reasons and the next step; a screen of 24 has a title, a command and files, too."""


def render(console: Console, diagnosis: Diagnosis, *, details: bool = False) -> None:
    """Print the verdict and the next command on a line of its own, ready to be pasted: a screen of 24 lines.

    With `details` the minor and the refuted causes, too, and the facts that all rests on stand between them.
    Without, the last of its reasons are left to the report where they would not fit.
    """
    verdict, reasons, end = _verdict(diagnosis), _reasons(diagnosis, details=details), _next(diagnosis)
    if not details:
        room = _LINES - sum(_height(console, each) for each in (*verdict, *end))
        reasons = _fitting(console, reasons, room)
    for each in (*verdict, *reasons):
        console.print(each)
    console.print()
    if details:
        for fact in diagnosis.evidence:
            console.print(_item(f"{fact.statement} [{fact.source}]"))
        console.print()
    for each in end:
        console.print(each)
    if diagnosis.next_command:
        # Not wrapped: a command that is cut into lines cannot be pasted.
        console.print(Text(f"  {printable(diagnosis.next_command)}", style="bold"), soft_wrap=True)


def _verdict(diagnosis: Diagnosis) -> list[RenderableType]:
    headline = Text("Verdict: ", style="bold")
    headline.append(diagnosis.headline, style=COLOURS[diagnosis.headline])
    return [headline, Padding(Text(printable(diagnosis.paragraph)), (0, 0, 0, 2))]


def _reasons(diagnosis: Diagnosis, *, details: bool) -> list[RenderableType]:
    """Items on what trials say of causes, what the recording shows with its line, and what was not proven."""
    found = diagnosis.findings if details else diagnosis.told
    proven = [each.sentence for each in found if each.status == "proven"]
    seen = [_of_pattern(each) for each in diagnosis.patterns[: None if details else MOST_PATTERNS]]
    others = [each.sentence for each in found if each.status != "proven"]
    return [_item(each) for each in (*proven, *seen, *others)]


def _of_pattern(seen: Pattern) -> str:
    where = f"{seen.location}: " if seen.location else ""
    return f"In the recording: {where}{seen.statement}. By hand: {seen.advice}."


def _next(diagnosis: Diagnosis) -> list[RenderableType]:
    return [Text("Next: ", style="bold") + Text(printable(diagnosis.next_step))]


def _item(text: str) -> RenderableType:
    return Padding(Text(f"- {printable(text)}"), (0, 0, 0, 2))


def _fitting(console: Console, reasons: list[RenderableType], room: int) -> list[RenderableType]:
    """As many of the first reasons as have room, and a line that says how many have not; at least one."""
    heights = [_height(console, each) for each in reasons]
    if sum(heights) <= room:
        return reasons
    kept = max((n for n in range(1, len(reasons)) if sum(heights[:n]) < room), default=1)
    left = len(reasons) - kept
    return [*reasons[:kept], *([_item(f"{left} more in the report")] if left else [])]


def _height(console: Console, shown: RenderableType) -> int:
    return len(console.render_lines(shown, pad=False))


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
    times = (
        f"{units.duration(ratio.typical)} for {units.duration(ratio.baseline)}" if ratio.unit == "s" else ""
    )
    return phrases.change_with_interval(ratio.ratio), times
