"""A program on fragmented heaps as tables: by level and allocator, with the controls."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.compare import pairings
from reap.compare import words as compared
from reap.compare.levels import words
from reap.compare.levels.judge import FragmentVerdict
from reap.compare.levels.records import Fragmented
from reap.compare.terminal import SCREEN
from reap.draw.terminal import height, notes, notes_that_fit
from reap.experiment.records import Ratio

_STYLES = {"better": "green", "worse": "yellow", "equivalent": "cyan", "inconclusive": "dim"}
_HEADLINES = {"it would be slower": "bold yellow", "it would hardly be slower": "bold green"}
_ABREAST = 4
"""Levels that 80 columns have room for."""


def render_verdict(console: Console, result: Fragmented, verdict: FragmentVerdict) -> None:
    """Print what spoils the figures, the verdict, and as many of the notes as fit on a screen."""
    warnings = [Text(f"! {printable(each)}", style="bold yellow") for each in verdict.first]
    for warning in warnings:
        console.print(warning)
    style = _HEADLINES.get(verdict.headline, "bold")
    console.print(Text("Verdict: ", style="bold") + Text(verdict.headline, style=style))
    paragraph = Text(printable(verdict.paragraph))
    console.print(Padding(paragraph, (0, 0, 0, 2)))
    lines = SCREEN - 1 - sum(height(console, each) for each in [*warnings, paragraph])
    notes_that_fit(console, [*words.problems(result), *result.notes], lines)


def render_tables(console: Console, result: Fragmented, verdict: FragmentVerdict) -> None:
    """Print the evidence, the tables, the controls, and what limits them all."""
    for fact in verdict.evidence:
        console.print(Padding(Text(f"- {printable(fact.statement)} [{fact.source}]"), (0, 0, 0, 2)))
    console.print()
    for kind in words.kinds(result):
        console.print(Text(kind.title, style="bold"))
        names = words.levels(result, kind)
        for start in range(0, len(names), _ABREAST):
            console.print(_ratios(result, names[start : start + _ABREAST], kind))
    console.print(Text(words.medians(result), style="bold"))
    console.print(_medians(result))
    if title := words.caches(result):
        console.print(Text(title, style="bold"))
        console.print(_misses(result))
    if not result.clean:
        _controls(console, result)
    for problem in words.problems(result):
        console.print(Text(f"  {problem}", style="yellow"))
    said = (
        pairings.paired(result.pairing, littered=True),
        words.BELOW_ONE,
        compared.INCONCLUSIVE,
        *words.deciding(result),
        compared.NOISE,
        words.MEMORY,
    )
    for line in said:
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    if result.exit_code:
        console.print(Text(f"  The program itself ended with status {result.exit_code}."))
    notes(console, result.notes)


def _ratios(result: Fragmented, levels: Sequence[str], kind: words.Kind) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("", overflow="fold")
    for name in levels:
        table.add_column(name, overflow="fold", min_width=13)
    for row in words.rows(result):
        variant, allocator, huge = row
        arms = [result.arm(variant, allocator, name, huge) for name in levels]
        ratios = [kind.of(arm) if arm and arm.sound else None for arm in arms]
        if any(ratios):
            table.add_row(Text(words.name(result, row)), *map(_ratio, ratios))
    return table


def _ratio(ratio: Ratio | None) -> Text:
    if ratio is None:
        return Text(units.UNKNOWN)
    value, estimate = units.ratio(ratio.ratio.value), ratio.ratio
    if estimate.low == estimate.high == 1:  # an arm to itself
        return Text("1")
    span, style = f"[{units.span(estimate)}]", _STYLES[ratio.verdict]
    if ratio.verdict == "inconclusive":  # too long for the line of the ratio at 80 columns
        return Text(f"{value}\n{span}\ninconclusive", style=style)
    return Text(f"{value} {compared.verdict_word(ratio)}\n{span}", style=style)


def _medians(result: Fragmented) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in ("", "level"):
        table.add_column(name, overflow="fold")
    for name in words.COLUMNS:
        table.add_column(name, justify="right")
    for arm in result.arms:
        if arm.sound:
            name = words.name(result, words.row_of(arm))
            table.add_row(Text(name), arm.level, *(Text(each) for each in words.values(arm)))
    return table


def _misses(result: Fragmented) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in ("", "level"):
        table.add_column(name, overflow="fold")
    for name in words.miss_columns(result):
        table.add_column(name, justify="right", min_width=len(name))
    for arm in result.arms:
        if arm.sound and (counts := words.misses(result, arm)):
            name = words.name(result, words.row_of(arm))
            table.add_row(Text(name), arm.level, *(Text(each) for each in counts))
    return table


def _controls(console: Console, result: Fragmented) -> None:
    console.print(Text("Controls: these should show no difference (CPU time)", style="bold"))
    clean = result.levels[0].name
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("", overflow="fold")
    table.add_column(f"{clean} to bare", min_width=13)
    table.add_column(f"all freed, to {clean}", min_width=13)
    for control in result.controls:
        name = words.name(result, (control.variant, control.allocator, ""))
        table.add_row(Text(name), _ratio(control.preload), _ratio(control.emptied))
    table.add_row(Text("(noise)", style="dim"), _ratio(result.noise.get("cpu")), Text(""))
    console.print(table)
    for sentence in words.layout_bias(result):
        console.print(Padding(Text(sentence), (0, 0, 0, 2)))
    console.print()
