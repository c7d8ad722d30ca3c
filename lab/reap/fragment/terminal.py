"""A run on a fragmented heap as a page of text."""

import shlex

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base import units
from reap.base.text import printable
from reap.draw.terminal import line, notes
from reap.fragment import picture, words
from reap.fragment.run import FragmentRun
from reap.launch.litter.account import resident_added


def render(console: Console, result: FragmentRun) -> None:
    """Print what the heap was littered with, what that cost, and what the program cost after it."""
    litter, profile, run = result.litter, result.profile, result.run
    level = litter.level
    order = words.freed_in_order(litter.order, touch=litter.touch, seed=litter.seed)
    console.print(
        Text(f"On a heap littered at {level.name}, under {printable(result.allocator)}", style="bold")
    )
    console.print(Text(f"  {printable(shlex.join(result.command))}", style="dim"), soft_wrap=True)
    peak = units.whole(litter.peak)
    line(
        console,
        f"{units.whole(litter.objects)} objects ({level.multiplier:g} x the {peak} in use at its peak), of "
        f"{units.size(profile.mean_size)} on average, sampled from {words.drawn_from(profile)}; "
        f"{units.percent(level.occupancy)} stay, the others were freed {order}",
    )
    if profile.left_out:
        line(
            console,
            f"ignored: blocks of {units.whole(profile.cut_off)} bytes and more, "
            f"{units.percent(profile.left_out_share)} of its bytes",
        )
    if litter.threads > 1:
        line(console, f"shared evenly by the first {litter.threads} threads")
    _costs(console, result)
    done = [each for each in run.litterings if not each.failure]
    line(
        console,
        f"stays in use: {units.size(sum(each.kept_bytes for each in done))} in "
        f"{units.whole(sum(each.kept for each in done))} objects; littered: "
        f"{units.many(len({each.pid for each in done}), 'process', 'es')}, {units.many(len(done), 'thread')}",
    )
    if result.heap is not None:
        line(console, picture.index(result.heap))
    line(console, f"malloc from {printable(result.provider) or units.UNKNOWN}")
    notes(console, result.notes)


def _costs(console: Console, result: FragmentRun) -> None:
    net, gross = result.run.outcome, result.run.gross
    added = sum(resident_added(result.run.litterings).values())
    rows = [
        ("user time", units.duration(net.user_ns / 1e9), units.duration((gross.user_ns - net.user_ns) / 1e9)),
        (
            "system time",
            units.duration(net.system_ns / 1e9),
            units.duration((gross.system_ns - net.system_ns) / 1e9),
        ),
        ("wall time", units.duration(net.wall_ns / 1e9), units.duration((gross.wall_ns - net.wall_ns) / 1e9)),
        (
            "page faults",
            units.count(net.minor_faults + net.major_faults),
            units.count(gross.minor_faults + gross.major_faults - net.minor_faults - net.major_faults),
        ),
        ("resident memory", f"{units.size(gross.peak_resident)} at most, together", units.size(added)),
    ]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("the program", justify="right")
    table.add_column("the littering, before it", justify="right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(Padding(table, (1, 0, 1, 2)))
