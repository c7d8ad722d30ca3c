"""What samples say of drag, as text."""

import shlex
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap import units
from reap.analysis.drag_sample_records import SampledDrag, SampledProcess
from reap.report.terminal_parts import notes
from reap.report.text import printable

_MOST_PROCESSES = 10
_COLUMNS = ("process", "allocated", "samples", "drag [95 % interval]", "peak, about")


def render(console: Console, sampled: SampledDrag) -> None:
    """Print a row for each process, and what must be known of it."""
    console.print(Text("Drag, by samples: what it costs not to free at once", style="bold"))
    console.print(Text(f"  {printable(shlex.join(sampled.command))}", style="dim"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "process" else "right", overflow="fold")
    for process in sampled.processes[:_MOST_PROCESSES]:
        table.add_row(*(Text(cell) for cell in _row(process)))
    console.print(Padding(table, (1, 0, 0, 2)))
    left = len(sampled.processes) - _MOST_PROCESSES
    if left > 0:
        notes(console, [f"{left} more processes, which allocated less, are in the JSON"])
    for process in sampled.processes[:_MOST_PROCESSES]:
        for note in _notes(process):
            notes(console, [f"{process.pid}: {note}"])
    notes(console, sampled.notes)


def _row(process: SampledProcess) -> list[str]:
    drag = process.drag
    told = f"{drag.value:.3f} [{drag.low:.3f}, {drag.high:.3f}]" if drag else "cannot tell"
    name = f"{printable(Path(process.program).name)} ({process.pid})"
    return [name, units.size(process.allocated), str(process.samples), told, units.size(process.peak)]


def _notes(process: SampledProcess) -> list[str]:
    said = list(process.notes)
    if process.few and process.drag is not None:
        said.append(
            f"a few objects rule it (one alone is {units.percent(process.largest)} of the bytes in use over "
            "time): those that were not drawn are not in the interval; use --engine exact"
        )
    return said
