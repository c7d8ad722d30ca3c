"""A profile as a page of text, one small function a part."""

import math
import shlex

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.answer import labels
from reap.base import units
from reap.base.text import bar, printable, resample, shortened, sparkline
from reap.draw.terminal import heading, notes, pairs
from reap.recording.analyse import shares
from reap.recording.analyse.calls import MEASURES, UNITS, Calls
from reap.recording.analyse.shares import few_samples
from reap.recording.records import Profile, Site
from reap.show.words import (
    REQUEST_COLUMNS,
    attached_rows,
    caller_lines,
    coverage_rows,
    estimate,
    lifetime_label,
    linked_profile,
    pattern,
    request_rows,
    share_of_all,
    share_text,
    size_label,
    totals_rows,
)

_SITES = 10
_BAR = 28
_SHORTEST = 4
_GAPS = 5
"""What stands between the columns of bars, and before them."""


def render(console: Console, profile: Profile, *, callers: bool = False) -> None:
    """Print every part that was recorded; `callers`: those of sites, too."""
    samples = units.whole(profile.samples)
    depth = "every event" if profile.depth == "full" else f"triage: counts exact, ~ from {samples} samples"
    if profile.attached is not None:
        whom = "by uprobes" if profile.attached.from_start else "of a running process"
        depth = f"{whom}: all figures from {samples} samples"
    console.print(Text(f"Recorded over {units.duration(profile.seconds)} ({depth})", style="bold"))
    console.print(Text(f"  {printable(shlex.join(profile.command))}", style="dim"), soft_wrap=True)
    _totals(console, profile)
    _sizes(console, profile)
    _lifetimes(console, profile)
    _memory(console, profile)
    _sites(console, profile, callers=callers)
    _linked(console, profile, callers=callers)
    _patterns(console, profile)
    _calls(console, profile)
    _requests(console, profile)
    _processes(console, profile)
    notes(console, profile.notes)


def render_stacks(console: Console, tree: Calls) -> None:
    """Print the functions that allocate most in a profile of another tool."""
    measures = [measure for measure in ("live-at-exit", *MEASURES) if any(tree.own[measure])]
    measures = list(dict.fromkeys(measures))
    totals: dict[str, dict[str, float]] = {}
    for measure in measures:
        for node, value in enumerate(tree.own[measure]):
            function = totals.setdefault(tree.places[tree.at[node]].function, dict.fromkeys(measures, 0.0))
            function[measure] += value
    heading(console, "Functions that allocate", "as the profile has them, without what they call")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for measure in measures:
        table.add_column(_FOREIGN.get(measure, measure), justify="right")
    table.add_column("function", overflow="fold")
    for name, values in sorted(totals.items(), key=lambda each: -each[1][measures[0]])[:_SITES]:
        shown = [
            (units.size if UNITS[measure] == "bytes" else units.count)(values[measure])
            for measure in measures
        ]
        table.add_row(*shown, Text(printable(name)))
    console.print(Padding(table, (0, 0, 0, 2)))


_FOREIGN: dict[str, str] = {"live-at-exit": "in use"}


def _requests(console: Console, profile: Profile) -> None:
    rows = request_rows(profile)
    if not rows:
        return
    heading(console, "Per request", "as the program marks them; counted exactly")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in ("", "requests", *REQUEST_COLUMNS):
        table.add_column(name, justify="right" if name else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(Padding(table, (0, 0, 0, 2)))


def _totals(console: Console, profile: Profile) -> None:
    rate = profile.totals.total_objects / profile.seconds if profile.seconds > 0 else math.nan
    heading(console, "Totals")
    if profile.attached is not None:
        speed = ("Allocations per second", f"~{units.count(rate)}")
        pairs(console, [*attached_rows(profile, profile.attached), speed])
        return
    pairs(
        console,
        [
            *totals_rows(profile.totals),
            ("Temporary", f"{estimate(profile.temporary, 'share')} freed before the thread allocated again"),
            ("Allocations per second", units.count(rate)),
            (labels.SHARE_NAME, share_text(profile)),
            *coverage_rows(profile),
        ],
    )


def _bars(console: Console, rows: list[tuple[str, float, float, str]]) -> None:
    """Rows of a label, a part of 1 to draw, a share to print and a remark; narrow consoles get short bars."""
    shares = [units.percent(share) for _, _, share, _ in rows]
    columns = ([row[0] for row in rows], shares, [row[3] for row in rows])
    widest = sum(max(map(len, column)) for column in columns)
    width = max(_SHORTEST, min(_BAR, console.width - widest - _GAPS))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(width=width, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for (label, part, _, remark), share in zip(rows, shares, strict=True):
        table.add_row(Text(label), Text(bar(part, width), style="cyan"), Text(share), Text(remark))
    console.print(Padding(table, (0, 0, 0, 2)))


def _sizes(console: Console, profile: Profile) -> None:
    bins = [held for held in profile.sizes if held.objects > 0]
    if not bins:
        return
    most, every = max(held.objects for held in bins), sum(held.objects for held in bins)
    heading(console, "Sizes", "objects; the bars are on a log scale")
    _bars(
        console,
        [
            (
                size_label(held.low, held.high),
                math.log(held.objects + 1) / math.log(most + 1),
                held.objects / every,
                f"{units.count(held.objects)}, {units.size(held.bytes)}",
            )
            for held in bins
        ],
    )


def _lifetimes(console: Console, profile: Profile) -> None:
    every = sum(held.objects for held in profile.lifetimes)
    if every <= 0:
        return
    most = max(held.objects for held in profile.lifetimes)
    heading(console, "Lifetimes", "objects" if profile.depth == "full" else "objects, estimated from samples")
    mark = "" if profile.depth == "full" else "~"
    _bars(
        console,
        [
            (
                lifetime_label(held),
                held.objects / most,
                held.objects / every,
                f"{mark}{units.count(held.objects)}",
            )
            for held in profile.lifetimes
        ],
    )


def _memory(console: Console, profile: Profile) -> None:
    width = max(20, min(60, console.width - 22))
    end = max([profile.seconds, *(p.seconds for p in profile.live), *(p.seconds for p in profile.resident)])
    lines = [("resident", profile.resident, units.size), ("live", profile.live, units.size)]
    top = max([p.bytes for _, points, _ in lines for p in points], default=0.0)
    if top > 0:
        heading(console, "Memory over time", f"0 to {units.duration(end)}, both on one scale")
    for name, points, show in [*lines, ("allocs/s", profile.rates, units.count)]:
        if not points:
            continue
        highest = max(point.bytes for point in points)
        drawn = sparkline(
            resample([(p.seconds, p.bytes) for p in points], width, end),
            highest if name == "allocs/s" else top,
        )
        console.print(Text(f"  {name:>8} ") + Text(drawn, style="cyan") + Text(f" {show(highest)}"))


def _sites(console: Console, profile: Profile, *, callers: bool) -> None:
    if few_samples(profile) and profile.totals.total_objects:
        heading(console, "Top allocation sites", "not shown: too few allocations were sampled")
    if not profile.sites:
        return
    shown = profile.sites[:_SITES]
    estimated = "" if profile.depth == "full" else "~ "
    interval = " (95 % CI)" if estimated and profile.attached is None else ""
    heading(
        console,
        "Top allocation sites",
        f"by bytes, {estimated}shares of all{interval}; {len(shown)} of {len(profile.sites)}",
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    lives = profile.attached is None
    for name in ("bytes", "objects", *(["temp."] if lives else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("site", overflow="fold")
    room = max(40, console.width - 28)
    for site in shown:
        name = shortened(printable(site.function), 2 * room) if site.function else "(no symbol)"
        where = Text(name)
        if place := _where(site, room):
            where += Text(f"\n  {place}", style="dim")
        for each in caller_lines(site) if callers else []:
            where += Text(f"\n  {shortened(each, 2 * room)}", style="dim")
        table.add_row(
            "\n".join(share_of_all(shares.of_bytes(profile, site))),
            "\n".join(share_of_all(shares.of_objects(profile, site))),
            *([units.percent(_part(site.temporary, site.objects))] if lives else []),
            where,
        )
    console.print(Padding(table, (0, 0, 0, 2)))


def _where(site: Site, room: int) -> str:
    """Location of a site and what it called there; without the location where that is its name already."""
    place = "" if site.location == site.function else printable(site.location)
    called = f"via {shortened(printable(site.via), room)}" if site.via else ""
    return ", ".join(part for part in (place, called) if part)


def _linked(console: Console, profile: Profile, *, callers: bool) -> None:
    shown = linked_profile(profile)
    if shown is None or shown.attached is None:
        return
    heading(console, "Linked allocators", "watched by uprobes: estimates, and in no other figure")
    pairs(console, attached_rows(shown, shown.attached))
    _sites(console, shown, callers=callers)
    notes(console, shown.notes)


def _patterns(console: Console, profile: Profile) -> None:
    if not profile.patterns:
        return
    heading(console, "Patterns", "ways of allocating that a change of the program removes")
    for each in profile.patterns:
        name, where, said = pattern(each)
        console.print(Padding(Text(name, style="bold") + Text(f": {where}"), (0, 0, 0, 2)))
        console.print(Padding(Text(said, style="dim"), (0, 0, 0, 4)))


def _part(value: float, whole: float) -> float:
    return min(1.0, value / whole) if whole > 0 else 0.0


def _calls(console: Console, profile: Profile) -> None:
    if profile.calls:
        heading(console, "Calls", "" if profile.attached is None else "estimated")
        text = ", ".join(
            f"{printable(name)} {units.whole(n)}"
            for name, n in sorted(profile.calls.items(), key=lambda c: -c[1])
        )
        console.print(Padding(Text(text), (0, 0, 0, 2)))
    if not profile.latencies:
        return
    heading(console, "Latency", "sampled; percentiles of one call")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("call")
    for name in ("p50", "p90", "p99", "p99.9", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    for held in profile.latencies:
        table.add_row(Text(printable(held.call)), *labels.percentiles(held), units.whole(held.samples))
    console.print(Padding(table, (0, 0, 0, 2)))


def _processes(console: Console, profile: Profile) -> None:
    if len(profile.processes) < 2:
        return
    heading(console, "Processes")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("pid", justify="right")
    table.add_column("name", overflow="fold")
    for name in ("objects", "bytes", "most bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("malloc from", overflow="fold")
    for held in profile.processes:
        if held.recorded:
            totals = held.totals
            peak = ("" if totals.max_bytes.exact else "~") + units.size(totals.max_bytes.value)
            cells = [units.count(totals.total_objects), units.size(totals.total_bytes), peak]
        else:
            cells = [units.UNKNOWN] * 3
        source = printable(held.allocator.rsplit("/", 1)[-1]) if held.recorded else "not recorded"
        table.add_row(
            str(held.pid),
            Text(printable(held.name)),
            *cells,
            Text(source + (f" ({printable(held.note)})" if held.note else "")),
        )
    console.print(table)
