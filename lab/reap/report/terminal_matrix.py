"""A program on fragmented heaps as tables: by level and allocator, with the controls."""

from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap import units
from reap.diagnosis.resilience import Resilience, luck_span
from reap.experiment.matrix_records import Arm, Fragmented
from reap.experiment.records import Ratio
from reap.report import wording
from reap.report.text import printable

_STYLES = {"better": "green", "worse": "yellow", "cannot tell": "dim"}
_HEADLINES = {"it would be slower": "bold yellow", "it would hardly be slower": "bold green"}
_ABREAST = 4
"""Levels that 80 columns have room for."""


def render(console: Console, result: Fragmented, verdict: Resilience) -> None:
    """Print what spoils the figures, the verdict, the tables, the controls, and what limits them all."""
    for warning in verdict.first:
        console.print(Text(f"! {printable(warning)}", style="bold yellow"))
    console.print(
        Text("Verdict: ", style="bold")
        + Text(verdict.headline, style=_HEADLINES.get(verdict.headline, "bold"))
    )
    console.print(Padding(Text(printable(verdict.paragraph)), (0, 0, 1, 2)))
    for fact in verdict.evidence:
        console.print(Padding(Text(f"- {printable(fact.statement)} [{fact.source}]"), (0, 0, 0, 2)))
    console.print()
    for title, of in tables(result):
        console.print(Text(title, style="bold"))
        for start in range(0, len(result.levels), _ABREAST):
            names = [level.name for level in result.levels[start : start + _ABREAST]]
            console.print(_ratios(result, names, of))
    console.print(Text("Medians, littering taken off", style="bold"))
    console.print(_medians(result))
    _controls(console, result)
    _problems(console, result)
    for line in (BELOW_ONE, wording.CANNOT_TELL, wording.NOISE, MEMORY):
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    if result.exit_code:
        console.print(Text(f"  The program itself ended with status {result.exit_code}."))
    for note in result.notes:
        console.print(Padding(Text(f"! {printable(note)}", style="yellow"), (0, 0, 0, 2)))


BELOW_ONE = "Below 1 is less CPU time (better), above 1 is more. Each ratio has its 95 % interval."
MEMORY = "Memory is the peak beyond what the littering added; what fits into gaps does not show in it."


def tables(result: Fragmented) -> Iterator[tuple[str, Callable[[Arm], Ratio | None]]]:
    """The ratios of CPU time that are worth a table each, with its title."""
    base = f"{result.variants[0]}, " if len(result.variants) > 1 else ""
    clean = result.levels[0].name
    early = ", stopped early (the budget ended)" if result.stopped_early else ""
    rounds = f"{result.rounds} paired round{'' if result.rounds == 1 else 's'}{early}"
    yield (
        f"CPU time, as a ratio to {base}{printable(result.allocators[0])}, {clean}; {rounds}",
        lambda arm: arm.normalised.get("cpu"),
    )
    yield (f"Slower by level: each as a ratio to its own {clean}", lambda arm: arm.slowdown.get("cpu"))
    if len(result.variants) > 1:
        yield (
            "Without the program's own allocator: naive as a ratio to custom",
            lambda arm: arm.to_custom.get("cpu"),
        )


def _ratios(result: Fragmented, levels: Sequence[str], of: Callable[[Arm], Ratio | None]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("", overflow="fold")
    for name in levels:
        table.add_column(name, overflow="fold", min_width=13)
    for variant, allocator in _rows(result):
        arms = [result.arm(variant, allocator, name) for name in levels]
        ratios = [of(arm) if arm and arm.sound else None for arm in arms]
        if any(ratios):
            table.add_row(Text(_name(result, variant, allocator)), *map(_ratio, ratios))
    return table


def _rows(result: Fragmented) -> list[tuple[str, str]]:
    return [(variant, allocator) for variant in result.variants for allocator in result.allocators]


def _name(result: Fragmented, variant: str, allocator: str) -> str:
    return printable(f"{variant} {allocator}" if len(result.variants) > 1 else allocator)


def _ratio(ratio: Ratio | None) -> Text:
    if ratio is None:
        return Text(units.UNKNOWN)
    value, estimate = units.ratio(ratio.ratio.value), ratio.ratio
    if estimate.low == estimate.high == 1:  # an arm to itself
        return Text("1")
    span = f"[{units.ratio(estimate.low)}, {units.ratio(estimate.high)}]"
    word = {"better": " less", "worse": " more"}.get(ratio.verdict, "\ncannot tell")
    lines = f"{value}{word}\n{span}" if ratio.verdict != "cannot tell" else f"{value}\n{span}{word}"
    return Text(lines, style=_STYLES[ratio.verdict])


def _medians(result: Fragmented) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in ("", "level"):
        table.add_column(name, overflow="fold")
    for name in ("CPU time", "in allocator", "faults", "memory", "litter"):
        table.add_column(name, justify="right")
    for variant, allocator in _rows(result):
        for level in result.levels:
            arm = result.arm(variant, allocator, level.name)
            if arm is not None and arm.sound:
                table.add_row(
                    Text(_name(result, variant, allocator)), level.name, *(Text(each) for each in values(arm))
                )
    return table


def values(arm: Arm) -> list[str]:
    """CPU time, the share of it inside the allocator, faults, memory beyond the litter, and the litter."""
    faults, memory = arm.normalised.get("minor_faults"), arm.normalised.get("peak_resident")
    return [
        units.duration(arm.cpu),
        units.percent(arm.split.share.value) if arm.split else units.UNKNOWN,
        units.count(faults.value) if faults else units.UNKNOWN,
        units.size(memory.value) if memory else units.UNKNOWN,
        units.size(arm.laid.resident) if arm.laid else units.UNKNOWN,
    ]


def _controls(console: Console, result: Fragmented) -> None:
    console.print(Text("What should make no difference (CPU time)", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("", overflow="fold")
    table.add_column(f"{result.levels[0].name} to bare", min_width=13)
    table.add_column(f"all given back, to {result.levels[0].name}", min_width=13)
    for control in result.controls:
        name = _name(result, control.variant, control.allocator)
        table.add_row(Text(name), _ratio(control.preload), _ratio(control.emptied))
    table.add_row(Text("(noise)", style="dim"), _ratio(result.noise.get("cpu")), Text(""))
    console.print(table)
    for luck in result.luck:
        if luck.ratios:
            low, high = luck_span([luck])
            who = f"{luck.variant}, " if len(result.variants) > 1 else ""
            tried = f"{len(luck.ratios)} layout{'' if len(luck.ratios) == 1 else 's'} tried"
            what = "bare" if luck.level == "none" else luck.level
            console.print(
                Padding(
                    Text(
                        f"{who}{what}: elsewhere placed, stack and libraries make it take "
                        f"{units.ratio(low)} to {units.ratio(high)} times the CPU time ({tried})"
                    ),
                    (0, 0, 0, 2),
                )
            )
    console.print()


def _problems(console: Console, result: Fragmented) -> None:
    for arm in result.arms:
        if arm.problem:
            name = _name(result, arm.variant, arm.allocator)
            console.print(Text(f"  {name}, {arm.level}: {printable(arm.problem)}", style="yellow"))
