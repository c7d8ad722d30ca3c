"""A check on a terminal: what exceeds a limit, and one line for all of it."""

from rich.console import Console
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.check import words
from reap.check.records import Check
from reap.recording.analyse import coverage

_STYLES = {"kept": "green", "exceeded": "bold red", "inconclusive": "yellow", "not measured": "bold yellow"}


def render(console: Console, held: Check) -> None:
    """A line for each limit with what allocates most, notes, and the summary last."""
    for each in held.judged:
        _line(console, f"  {words.sentence(each)}", _STYLES[each.verdict])
        for place in each.places:
            _line(console, f"    {words.place(place, each.limit.figure)}", "dim")
    for known in held.suppressed:
        if known.bytes:
            kept = "kept until exit by the runtime libraries" if known.runtime else "suppressed"
            _line(console, f"  ignored: {units.size(known.bytes)} {kept}: {known.pattern}", "dim")
    for note in held.notes:
        _line(console, f"  note: {note}", "")
    if held.coverage:
        _line(console, f"  coverage: {coverage.sentence(held.coverage)}", "dim")
    _line(console, f"reap: {words.summary(held)}", "bold")
    if advice := words.advice(held):
        _line(console, advice, "")


def _line(console: Console, text: str, style: str) -> None:
    """Never wrapped within: paths in it are pasted."""
    console.print(Text(printable(text), style=style), soft_wrap=True)
