"""A comparison of allocators as a verdict and as tables."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.compare import analyse, phrases, words
from reap.compare.latency import LATENCY
from reap.draw.terminal import line, note_height, notes, notes_that_fit, that_fit
from reap.experiment.records import Comparison, Ratio, Side

_MAIN = ("cpu_per_request", "cpu", "throughput", "wall", "peak_resident", "minor_faults")
_USUAL = ("cpu", "wall", "peak_resident", "minor_faults")
"""Where nothing is known."""
_RESIDENT = ("mean_resident", "settled_resident")
_REQUESTS = ("request_p50", "request_p99", "request_p999", "request_rate")
_STYLES = {"better": "green", "worse": "yellow", "equivalent": "cyan", "inconclusive": "dim"}

SCREEN = 17
"""Lines of a verdict: with those that name files and the next command a screen of 24."""


def render_verdict(console: Console, comparison: Comparison) -> None:
    """Print the answer, what it rests on, and as many of the effects and notes as fit on a screen."""
    headline = Text("Verdict: ", style="bold").append(
        printable(words.headline(comparison)), style="bold cyan"
    )
    witness = words.witness(comparison, most=3)
    limits = words.conditions(comparison)
    last = [*limits, witness, words.why(comparison), words.more(comparison), _status(comparison)]
    ends = [each for each in last if each]
    console.print(headline)
    said = [headline.plain, *ends, *(["!"] if comparison.notes else [])]
    lines = SCREEN - sum(note_height(console, each) for each in said)
    effects = words.verdict(comparison)
    if sum(note_height(console, each) for each in effects) > lines:
        effects = [words.of_side(side, comparison) for side in words.by_time(comparison)]
        lines -= 1
    shown = that_fit(console, effects, lines)
    for each in shown:
        line(console, each)
    if left := len(effects) - len(shown):
        line(console, f"... and {left} more: --details", "dim")
    for each in ends:
        line(console, each, "dim")
    lines -= sum(note_height(console, each) for each in shown)
    notes_that_fit(console, comparison.notes, lines + 1)


def _status(comparison: Comparison) -> str:
    code = comparison.exit_code
    return f"The program itself ended with {phrases.status(code, comparison.last_words)}." if code else ""


def render(console: Console, comparison: Comparison) -> None:
    """Print what each allocator does, and the tables."""
    render_tables(console, comparison, words.verdict(comparison))


def render_tables(console: Console, comparison: Comparison, effects: Sequence[str] = ()) -> None:
    """Print the tables below these effects, how they are read, and what limits them."""
    what = "Commands" if comparison.against else "Allocators"
    title = f"{what}, each as a ratio to {printable(comparison.baseline)}; {words.rounds(comparison)}"
    console.print(Text(title, style="bold"))
    for sentence in effects:
        line(console, sentence)
    console.print(Text(words.made(comparison), style="dim"))
    main = tuple(metric for metric in words.metrics(comparison) if metric in _MAIN) or _USUAL
    console.print(_ratios(comparison, main))
    console.print(_values(comparison, main))
    groups = (
        tuple(metric for metric in words.metrics(comparison) if metric in group)
        for group in (LATENCY, _RESIDENT, _REQUESTS)
    )
    for group in filter(None, groups):
        console.print(_ratios(comparison, group))
        console.print(_values(comparison, group))
    rest = [m for m in words.metrics(comparison) if m not in (*_MAIN, *LATENCY, *_RESIDENT, *_REQUESTS)]
    if rest:
        console.print(_ratios(comparison, tuple(rest)))
    for side in comparison.sides:
        line(
            console, f"{side.allocator}: {words.trust(side, comparison)}; malloc from {side.provider or '?'}"
        )
        if side.problem:
            console.print(Text(f"    {printable(side.problem)}", style="yellow"))
    console.print()
    for sentence in words.reading(comparison):
        line(console, sentence, "dim")
    if status := _status(comparison):
        line(console, status)
    notes(console, comparison.notes)


def _name(side: Side) -> Text:
    """The allocator's name, marked where its figures are not to be trusted (in a pipe too)."""
    name = printable(side.allocator)
    return Text(name) if analyse.trusted(side) else Text(f"{name} (!)", style="strike")


def _ratios(comparison: Comparison, metrics: tuple[str, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("command" if comparison.against else "allocator", overflow="fold")
    for metric in metrics:
        table.add_column(words.metric_name(metric), overflow="fold", min_width=13)
    for side in comparison.sides:
        cells = [_ratio(side.ratios.get(metric), comparison) for metric in metrics]
        table.add_row(_name(side), *cells)
    noise = [_noise(comparison.noise.get(metric)) for metric in metrics]
    table.add_row(Text("(noise)", style="dim"), *noise, end_section=True)
    return table


def _noise(ratio: Ratio | None) -> Text:
    if ratio is None:
        return Text(units.UNKNOWN)
    return Text(f"{units.ratio(ratio.ratio.value)}\n[{units.span(ratio.ratio)}]", style="dim")


def _ratio(ratio: Ratio | None, comparison: Comparison) -> Text:
    if ratio is None:
        return Text(units.UNKNOWN)
    span = f"[{units.span(ratio.ratio)}]"
    word, value = words.verdict_word(ratio), units.ratio(ratio.ratio.value)
    style = "dim" if analyse.within_noise(ratio, comparison) else _STYLES[ratio.verdict]
    if ratio.verdict == "inconclusive":  # too long for the line of the ratio at 80 columns
        return Text(f"{value}\n{span}\n{word}", style=style)
    return Text(f"{value} {word}\n{span}", style=style)


def _values(comparison: Comparison, metrics: tuple[str, ...]) -> Table:
    """Amounts in their units: the baseline's median, and what each ratio makes of it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("amount", overflow="fold")
    for metric in metrics:
        table.add_column(words.metric_name(metric), justify="right", min_width=13)
    first = next((side for side in comparison.sides if side.ratios), None)
    if first:
        table.add_row(Text(printable(comparison.baseline)), *_amounts(first, metrics, baseline=True))
    for side in comparison.sides:
        if side.ratios:
            table.add_row(_name(side), *_amounts(side, metrics, baseline=False))
    return table


def _amounts(side: Side, metrics: tuple[str, ...], *, baseline: bool) -> list[Text]:
    cells = []
    for metric in metrics:
        ratio = side.ratios.get(metric)
        value = (ratio.baseline if baseline else ratio.typical) if ratio else None
        cells.append(
            Text(units.UNKNOWN if ratio is None or value is None else units.in_unit(value, ratio.unit))
        )
    return cells
