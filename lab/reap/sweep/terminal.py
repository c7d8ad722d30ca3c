"""A sweep on the terminal."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.records import Estimate
from reap.base.text import printable
from reap.draw.terminal import line, notes
from reap.sweep.judge import METRIC, title
from reap.sweep.records import Answer, Effect, SweepResult

_KINDS = 3
"""Kinds of machine that have a column; the page has all."""


def render(console: Console, result: SweepResult, answers: list[Answer]) -> None:
    """Prints the ratios of CPU time, what they are from, and the answers last."""
    console.print(Text("CPU time against " + printable(result.baseline), style="bold"))
    console.print(Padding(_table(result), (1, 0, 1, 2)))
    line(console, provenance(result))
    notes(console, [*result.dropped, *result.notes])
    console.print()
    for each in answers:
        line(console, each.sentence, "bold")


def provenance(result: SweepResult) -> str:
    """Source of the figures, in a line."""
    of = f" of {result.planned}" if result.planned > result.blocks else ""
    return (
        f"{units.many(result.blocks, 'round')}{of} on {units.many(result.hosts, 'machine')} "
        f"of {units.many(len(result.kinds), 'kind')}; 95 % CIs"
    )


def said(ratio: Estimate | None) -> str:
    """A ratio with its interval, or why there is none."""
    return units.ratio_with_interval(ratio) if ratio is not None else units.TOO_FEW


def _table(result: SweepResult) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("program", "allocator"):
        table.add_column(heading)
    several = len(result.kinds) > 1 or result.hosts > 1
    if several:
        table.add_column("machines like these", justify="right")
    shown = result.kinds[:_KINDS]
    for kind in shown:
        table.add_column(printable(kind), justify="right")
    for effect in result.effects:
        if effect.metric != METRIC:
            continue
        style = "dim" if effect.noise else ""
        name = f"{effect.allocator} again" if effect.noise else effect.allocator
        overall = [said(effect.overall)] if several else []
        table.add_row(
            printable(title(effect)), printable(name), *overall, *_kinds(effect, shown), style=style
        )
    return table


def _kinds(effect: Effect, shown: list[str]) -> list[str]:
    by_name = {each.kind: each.ratio for each in effect.kinds}
    return [said(by_name[kind]) if kind in by_name else "" for kind in shown]
