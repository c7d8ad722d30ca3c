"""Growth of memory as a page of text: the trend of each part, then the verdict."""

import shlex

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable, shortened
from reap.draw.terminal import line, notes
from reap.rss.growth.judge import GrowthVerdict
from reap.rss.growth.records import WORDS, Growth, Trend

_LONGEST = 140


def render(console: Console, growth: Growth, verdict: GrowthVerdict) -> None:
    """Print the parts, what they are from, and the verdict last."""
    name = shortened(printable(shlex.join(growth.command)), _LONGEST)
    console.print(Text(f"Memory of {name} over {units.duration(growth.seconds)}", style="bold"))
    if growth.resident is not None:
        console.print(Padding(_table(growth, growth.resident), (1, 0, 1, 2)))
    line(console, provenance(growth))
    notes(console, [*([growth.ended] if growth.ended else []), *growth.notes])
    console.print()
    for number, sentence in enumerate(verdict.sentences):
        line(console, sentence, "" if number else "bold")


def provenance(growth: Growth) -> str:
    """Source of the figures, in a line."""
    starts = f" of {growth.starts} starts" if growth.starts > 1 else ""
    who = "the kernel and the allocator" if growth.asked else "the kernel alone"
    without = f"; without the first {units.duration(growth.warm_up)}, the warm-up" if growth.resident else ""
    return f"{units.many(growth.snapshots, 'snapshot')}{starts}{without}; figures from {who}; 95 % CIs"


def rows(growth: Growth, whole: Trend) -> list[tuple[str, str, str, str]]:
    """Each part, at the begin and at the end, and its growth an hour."""
    named = [*((WORDS[name], each) for name, each in growth.parts.items()), ("resident", whole)]
    return [
        (
            words,
            units.size(each.first),
            units.size(each.last),
            units.sizes_with_interval(each.per_hour),
        )
        for words, each in named
    ]


def _table(growth: Growth, whole: Trend) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in ("at first", "at the end", "growth per hour"):
        table.add_column(heading, justify="right")
    for row in rows(growth, whole):
        table.add_row(*row, style="bold" if row[0] == "resident" else "")
    return table
