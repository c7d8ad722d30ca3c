"""Report on what a process's memory consists of, as a page of text."""

import shlex
from collections.abc import Callable, Sequence
from operator import attrgetter

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable, resample, shortened, sparkline
from reap.draw.terminal import line, notes
from reap.rss.judge import ResidenceVerdict
from reap.rss.records import NAMES, Residence, Taken

_CURVE, _REST = 32, 72
"""The width of a curve, and that of what stands before it."""
_LONGEST, _OTHERS = 140, 3
"""Letters of a command, and processes beside the largest."""


def render_verdict(console: Console, verdict: ResidenceVerdict) -> None:
    """Print what most of the memory is, and what would return it."""
    first, *others = verdict.sentences
    console.print(Text("Verdict: ", style="bold").append(printable(first), style="bold cyan"))
    for sentence in others:
        line(console, sentence)
    if verdict.remedies:
        line(console, "Not tried; `reap rss --try -- CMD` measures what each gives:")
    for remedy in verdict.remedies:
        line(console, f"- {remedy_words(remedy.what, remedy.environment, remedy.allocator)}")


def render_sentences(console: Console, verdict: ResidenceVerdict) -> None:
    """Print what most of the memory is, below another verdict."""
    for sentence in verdict.sentences:
        line(console, sentence)


def render(console: Console, residence: Residence) -> None:
    """Print the parts settled, when memory was largest and at the end, their curves, and the notes."""
    name = shortened(printable(shlex.join(residence.command)), _LONGEST)
    console.print(Text(f"{_what(residence)} of {name}", style="bold"))
    _table(console, residence)
    asked = [each.allocator for each in residence.last.linked if each.asked]
    names = list(dict.fromkeys([*([residence.allocator] if residence.allocator else []), *asked]))
    who = f"the kernel and {' and '.join(names)}" if names else "the kernel alone"
    taken = f"{units.whole(residence.taken)} snapshot{'' if residence.taken == 1 else 's'}"
    span = f" in {units.duration(residence.last.seconds)}" if residence.taken > 1 else ""
    line(console, f"{taken}{span}; figures from {who}")
    if residence.recorded is not None:
        line(console, f"live at the end by the recording: {units.size(residence.recorded)}")
    if residence.processes > 1 or residence.last.inherited or residence.last.copied:
        line(console, _sharing(residence.last))
    notes(console, [*([residence.ended] if residence.ended else []), *residence.notes])


def _what(residence: Residence) -> str:
    if residence.processes > 1:
        return f"Memory (PSS, at most {residence.processes} processes at a time)"
    return "Resident memory"


def render_others(console: Console, others: Sequence[Residence]) -> None:
    """A line for each of the largest of the other processes of a command."""
    for each in others[:_OTHERS]:
        size, private = units.size(each.largest.resident), units.size(each.last.private)
        # The number is all that is known of a process that was gone before it could be asked.
        nameless = each.command == [f"process {each.pid}"]
        name = "" if nameless else f": {shortened(printable(shlex.join(each.command)), 60)}"
        line(console, f"also: process {each.pid}, at most {size}, {private} private at the end{name}")
    if len(others) > _OTHERS:
        line(console, f"and {len(others) - _OTHERS} smaller ones, in the file of all snapshots")


def _sharing(moment: Taken) -> str:
    """Private, shared and copied memory at the end, in a line."""
    parts = [
        f"{units.size(moment.private)} private",
        f"{units.size(moment.inherited)} shared since a fork in each process that maps it",
        f"at most {units.size(moment.copied)} copied since",
    ]
    return f"at the end: {', '.join(parts)}"


def remedy_words(what: str, environment: dict[str, str], allocator: str) -> str:
    """A remedy as a line, with the words that make it."""
    words = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
    words += [f"under {allocator}"] if allocator else []
    return f"{what}: {' '.join(words)}" if words else what


def _table(console: Console, residence: Residence) -> None:
    moments, settled = residence.moments, residence.settled
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    width = max(6, min(_CURVE, console.width - _REST))
    table.add_column("", no_wrap=True)
    for heading in ("settled", "share", "at peak", "at end"):
        table.add_column(heading, justify="right", no_wrap=True)
    if len(moments) > 1:
        table.add_column("timeline", no_wrap=True)

    def add(words: str, part: Callable[[Taken], int], share: str = "", style: str | None = None) -> None:
        sizes = [units.size(part(each)) for each in (settled, residence.largest, residence.last)]
        curve = resample([(each.seconds, float(part(each))) for each in moments], width, moments[-1].seconds)
        drawn = [sparkline(curve, float(residence.largest.resident))] if len(moments) > 1 else []
        table.add_row(words, sizes[0], share, *sizes[1:], *drawn, style=style)

    for name, words in NAMES.items():
        part = attrgetter(f"parts.{name}")
        if any(part(each) for each in moments):
            whole = settled.resident
            add(words, part, units.percent(part(settled) / whole) if whole else units.UNKNOWN)
    add("PSS" if residence.processes > 1 else "resident", attrgetter("resident"), style="bold")
    console.print(Padding(table, (1, 0, 1, 2)))
