"""The facts of the wall as a page of text, one small function a part."""

import shlex

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.answer import labels
from reap.base import units
from reap.base.text import bar, printable, shortened
from reap.draw.terminal import heading, notes, pairs
from reap.evidence.records import Wall
from reap.wall import words

_BAR = 28
_HOT = 12
_UNITS = {"mark": "marked requests", "connection": "connections", "read": "reads from sockets"}


def render(console: Console, wall: Wall) -> None:
    """Print every fact that is known."""
    console.print(Text(f"Watched for {units.duration(wall.wall_seconds)}", style="bold"))
    console.print(Text(f"  {printable(shlex.join(wall.command))}", style="dim"), soft_wrap=True)
    _time(console, wall)
    _hot(console, wall)
    _allocations(console, wall)
    _memory(console, wall)
    _calls(console, wall)
    _waiting(console, wall)
    notes(console, wall.notes)
    console.print()


def _time(console: Console, wall: Wall) -> None:
    spent = [units.duration(each) for each in (wall.cpu_seconds, wall.user_seconds, wall.system_seconds)]
    threads = units.many(wall.threads, "thread")
    heading(console, "CPU time", f"{spent[0]} ({spent[1]} user, {spent[2]} system), {threads}")
    share = wall.share
    if share is None:
        console.print(Padding(Text("not sampled"), (0, 0, 0, 2)))
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(width=_BAR, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, label, part, _ in words.owners(wall):
        whose = f" ({printable(wall.allocator)})" if name == "allocator" and wall.allocator else ""
        table.add_row(Text(label + whose), Text(bar(part, _BAR), style="cyan"), Text(units.percent(part)))
    console.print(Padding(table, (0, 0, 0, 2)))
    said = f"{labels.share_figure(share)} ({labels.share_how(share)})"
    pairs(
        console,
        [
            (labels.SHARE_NAME, said),
            *(("Garbage collector", words.collector(each)) for each in wall.collections),
        ],
    )


def _hot(console: Console, wall: Wall) -> None:
    every = sum(wall.owners.values())
    if not every or not wall.hot:
        return
    heading(console, "Functions", "by samples of CPU time")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for held in wall.hot[:_HOT]:
        name = shortened(printable(held.function), 60) or "(no symbol)"
        table.add_row(
            units.percent(held.samples / every),
            Text(name, style="cyan" if held.owner == "allocator" else ""),
            Text(printable(held.module), style="dim"),
        )
    console.print(Padding(table, (0, 0, 0, 2)))


def _allocations(console: Console, wall: Wall) -> None:
    held, asked, took = wall.counted, wall.requests, wall.latency
    rows: list[tuple[str, str]] = []
    if held is not None:
        freed = units.whole(held.frees)
        rows.append(("Blocks", f"{units.whole(held.allocations)}, {units.size(held.bytes)}; {freed} freed"))
    if asked.per_request is not None:
        of = f"{units.whole(asked.count)} {_UNITS.get(asked.unit, asked.unit)}"
        rows.append(("For each request", f"{units.count(asked.per_request)} ({of})"))
    elif asked.unit:
        rows.append(("Requests", f"{units.whole(asked.count)} {_UNITS.get(asked.unit, asked.unit)}"))
    if took is not None:
        marks = zip(("P50", "P90", "P99", "P99.9"), labels.percentiles(took), strict=True)
        shown = ", ".join(f"{name} {value}" for name, value in marks if value != units.UNKNOWN)
        said = f"{shown} ({labels.samples_of(took)})"
        rows.append(("One malloc takes", said))
    if rows:
        heading(console, "Allocations", "counted in another run of the same command" if held else "")
        pairs(console, rows)


def _memory(console: Console, wall: Wall) -> None:
    heading(console, "Memory")
    held, faults = wall.resident, wall.faults
    rows = [("Resident", f"{units.size(held.peak)} at most, {units.size(held.end)} at the end")]
    if held.trimmable:
        rows.append(("Free whole pages", f"{units.size(held.trimmable)} late in the run, as glibc said"))
    if held.lazy_free:
        rows.append(
            ("Freed, not yet reclaimed", f"{units.size(held.lazy_free)} late in the run, still resident")
        )
    rows.append(("Page faults", f"{units.whole(faults.minor)} minor, {units.whole(faults.major)} major"))
    rows += [(f"  {label}", part) for label, part in words.faults(wall)]
    if wall.slab is not None and wall.slab.growth:
        rows.append(("Kernel's slabs", f"grew by {units.size(wall.slab.growth)}, on the whole machine"))
    pairs(console, rows)


def _calls(console: Console, wall: Wall) -> None:
    rows = [(name, f"{own} by the allocator, {others} by others") for name, own, others in words.calls(wall)]
    if rows:
        heading(console, "System calls", "of the counted run" if wall.counted else "")
        pairs(console, rows)


def _waiting(console: Console, wall: Wall) -> None:
    held = wall.waiting
    if held is None:
        return
    heading(console, "Waiting", f"of all threads together, from {units.whole(held.polls)} snapshots")
    rows = words.waits(wall)
    if held.lock and held.allocator_lock is not None:
        rows.insert(1, ("  the allocator's", units.duration(held.allocator_lock)))
    pairs(console, rows)
