"""The facts of the wall as a page of text, one small function a part."""

import shlex
from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap import units
from reap.analysis.wall_records import OWNERS, Wall
from reap.report import wording
from reap.report.text import bar, printable, shortened

_BAR = 28
_HOT = 12
_NAMES = {
    "allocator": "the allocator",
    "collector": "a garbage collector",
    "lock": "locks",
    "kernel_io": "kernel: files and network",
    "kernel_fault": "kernel: the program's page faults",
    "other": "the program, and the rest",
}
_TOUCHED = {
    "allocator": "the allocator's own code",
    "heap": "the program, in fresh memory",
    "stack": "stacks",
    "file": "mapped files",
}


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
    for note in wall.notes:
        console.print(Padding(Text(f"! {printable(note)}", style="yellow"), (0, 0, 0, 2)))


def _heading(console: Console, text: str, remark: str = "") -> None:
    console.print()
    console.print(Text(text, style="bold") + Text(f"  {remark}" if remark else "", style="dim"))


def _pairs(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    console.print(Padding(table, (0, 0, 0, 2)))


def _time(console: Console, wall: Wall) -> None:
    user, system = units.duration(wall.user_seconds), units.duration(wall.system_seconds)
    _heading(
        console,
        "Processor time",
        f"{units.duration(wall.cpu_seconds)} ({user} user, {system} system), {wall.threads} threads",
    )
    share = wall.share
    every = sum(wall.owners.values())
    if share is None or not every:
        console.print(Padding(Text("not sampled"), (0, 0, 0, 2)))
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(width=_BAR, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name in OWNERS:
        part = wall.owners.get(name, 0) / every
        label = _NAMES[name] + (f" ({printable(wall.allocator)})" if name == "allocator" and part else "")
        table.add_row(Text(label), Text(bar(part, _BAR), style="cyan"), Text(units.percent(part)))
    console.print(Padding(table, (0, 0, 0, 2)))
    span = units.percent_span(share.share.low, share.share.high)
    rows = [
        (
            wording.SHARE_NAME,
            f"{units.percent(share.share.value)} (95 % interval {span}; {wording.share_method(share)})",
        )
    ]
    rows += [
        (f"Collector: {each.kind}", _collected(each.count, each.pause_seconds, each.cpu_seconds))
        for each in wall.collections
    ]
    _pairs(console, rows)


def _collected(count: int | None, pause: float | None, cpu: float | None) -> str:
    said = [f"{units.count(count)} collections"] if count is not None else []
    said += [f"paused for {units.duration(pause)}"] if pause is not None else []
    said += [f"{units.duration(cpu)} on the processor"] if cpu is not None else []
    return ", ".join(said)


def _hot(console: Console, wall: Wall) -> None:
    every = sum(wall.owners.values())
    if not every or not wall.hot:
        return
    _heading(console, "Functions", "by samples of processor time")
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
    held = wall.counted
    if held is None:
        return
    _heading(console, "Allocations", "counted in another run of the same command")
    rows = [
        (
            "Blocks",
            f"{units.whole(held.allocations)}, {units.size(held.bytes)}; {units.whole(held.frees)} freed",
        )
    ]
    asked = wall.requests
    if asked.per_request is not None:
        unit = {"mark": "marked requests", "connection": "connections", "read": "reads from sockets"}
        rows.append(
            (
                "For each request",
                f"{units.count(asked.per_request)} ({units.whole(asked.count)} {unit[asked.unit]})",
            )
        )
    if wall.latency is not None:
        took = wall.latency
        marks = [units.duration(ns * 1e-9) for ns in (took.p50, took.p99, took.p999)]
        said = f"P50 {marks[0]}, P99 {marks[1]}, P99.9 {marks[2]} ({units.whole(took.samples)} samples)"
        rows.append(("One malloc takes", said))
    _pairs(console, rows)


def _memory(console: Console, wall: Wall) -> None:
    _heading(console, "Memory")
    held, faults = wall.resident, wall.faults
    rows = [("Resident", f"{units.size(held.peak)} at most, {units.size(held.end)} at the end")]
    if held.lazy_free:
        rows.append(("Given back lazily", f"{units.size(held.lazy_free)} at most, still resident"))
    rows.append(("Page faults", f"{units.whole(faults.minor)} minor, {units.whole(faults.major)} major"))
    rows += [
        (
            f"  {_TOUCHED.get(name, name)}",
            f"{units.percent(count / faults.samples)} of {faults.samples} sampled",
        )
        for name, count in sorted(faults.by.items(), key=lambda each: -each[1])
    ]
    if wall.slab is not None and wall.slab.growth:
        rows.append(("Kernel's slabs", f"grew by {units.size(wall.slab.growth)}, on the whole machine"))
    _pairs(console, rows)


def _calls(console: Console, wall: Wall) -> None:
    if wall.calls is None:
        return
    rows = [
        (name, f"{units.whole(held.by_allocator)} by the allocator, {units.whole(held.by_others)} by others")
        for name, held in wall.calls.items()
        if held.total
    ]
    if rows:
        _heading(console, "System calls", "of the counted run" if wall.counted else "")
        _pairs(console, rows)


def _waiting(console: Console, wall: Wall) -> None:
    held = wall.waiting
    if held is None:
        return
    _heading(console, "Waiting", f"of all threads together, from {units.whole(held.looks)} looks")
    of_allocator = ""
    if held.lock and held.allocator_lock is not None:
        of_allocator = f", {units.duration(held.allocator_lock)} of it for the allocator's"
    _pairs(
        console,
        [
            ("locks", units.duration(held.lock) + of_allocator),
            ("disk", units.duration(held.disk)),
            ("network", units.duration(held.network)),
            ("anything else", units.duration(held.other)),
        ],
    )
