"""Profile as the page shows it, in plain strings; the template places them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from reap.answer import labels
from reap.base import units
from reap.base.text import printable
from reap.draw.figure import Figure
from reap.recording.analyse import shares
from reap.recording.analyse.coverage import sentence
from reap.recording.records import Process, Profile, Site, Totals
from reap.show import figures, words
from reap.show.records import Excerpt, Flame, SourceLine


@dataclass(frozen=True)
class SiteRow:
    """One allocation site; the numbers are for sorting."""

    function: str
    location: str
    module: str
    via: str
    stack: list[str]
    callers: list[str]
    """A line each, with its share, behind what draws the tree."""
    columns: list[tuple[float, str]]


@dataclass(frozen=True)
class ProfileView:
    """A profile's section."""

    full: bool
    attached: bool
    from_start: bool
    columns: list[str]
    """Of sites, behind their names."""
    tiles: list[tuple[str, str, str]]
    coverage: str
    """A sentence; empty of a recording from outside."""
    figures: list[Figure]
    sites: list[SiteRow]
    patterns: list[tuple[str, str, str]]
    """Name, line, and what it is with what to change."""
    requests: list[list[str]]
    latencies: list[list[str]]
    calls: list[tuple[str, str]]
    processes: list[list[str]]
    linked: "ProfileView | None"
    """Calls of linked allocators, of which tiles and sites are shown."""


def view(profile: Profile) -> ProfileView:
    """The section's words and figures."""
    linked = words.linked_profile(profile)
    return ProfileView(
        full=profile.depth == "full",
        attached=profile.attached is not None,
        from_start=profile.attached is not None and profile.attached.from_start,
        columns=["Share", "Bytes", "Objects"] + ([] if profile.attached else ["Temporary", "Live at peak"]),
        tiles=_tiles(profile),
        coverage=f"{sentence(profile.coverage)}." if profile.coverage else "",
        figures=figures.of_profile(profile),
        sites=[_site(site, profile) for site in profile.sites],
        patterns=[words.pattern(each) for each in profile.patterns],
        requests=words.request_rows(profile),
        latencies=_latencies(profile),
        calls=_calls(profile),
        processes=[_process(process) for process in profile.processes],
        linked=view(linked) if linked else None,
    )


def _tiles(profile: Profile) -> list[tuple[str, str, str]]:
    """The columns of Table 3 (OOPSLA 2002): name, figure, and what is to be known of it."""
    if profile.attached is not None:
        return [(name, value, "") for name, value in words.attached_rows(profile, profile.attached)]
    totals, share = profile.totals, profile.share
    sampled, how = units.UNKNOWN, "not sampled"
    if share:
        sampled = labels.share_figure(share)
        how = labels.share_how(share)
    rate = profile.totals.total_objects / profile.seconds if profile.seconds > 0 else math.nan
    return [
        ("Total objects", units.count(totals.total_objects), f"{units.count(rate)} a second"),
        (
            "Most in use at once",
            words.value(totals.max_objects, "count"),
            words.span(totals.max_objects, "count"),
        ),
        ("Average size", units.size(totals.average_size), ""),
        (
            "Temporary objects",
            words.value(profile.temporary, "share"),
            words.span(profile.temporary, "share"),
        ),
        ("Total bytes", units.size(totals.total_bytes), ""),
        ("Most bytes in use", words.value(totals.max_bytes, "bytes"), words.span(totals.max_bytes, "bytes")),
        ("Turnover (all bytes / peak)", units.ratio(totals.total_over_max), ""),
        (labels.SHARE_NAME, sampled, how),
    ]


def _site(site: Site, profile: Profile) -> SiteRow:
    share = shares.of_bytes(profile, site)
    part, span = words.share_of_all(share)
    parts: tuple[tuple[float, Callable[[float], str]], ...] = (
        (share.value, lambda _: f"{part} ({span})" if span else part),
        (site.bytes, units.size),
        (site.objects, units.count),
        (_part(site.temporary, site.objects), units.percent),
        (site.live_at_peak, units.size),
    )
    if profile.attached is not None:
        parts = parts[:3]
    return SiteRow(
        function=printable(site.function) or "(no symbol)",
        location=printable(site.location),
        module=printable(site.module),
        via=printable(site.via),
        stack=[printable(frame) for frame in site.stack],
        callers=words.caller_lines(site),
        columns=[(value, show(value)) for value, show in parts],
    )


def _part(value: float, whole: float) -> float:
    return min(1.0, value / whole) if whole > 0 else 0.0


def _process(process: Process) -> list[str]:
    totals: Totals = process.totals
    figures = [
        units.whole(totals.total_objects),
        words.value(totals.max_objects, "count"),
        units.size(totals.average_size),
        units.size(totals.total_bytes),
        words.value(totals.max_bytes, "bytes"),
        units.ratio(totals.total_over_max),
    ]
    return [
        str(process.pid),
        printable(process.name),
        *(figures if process.recorded else [units.UNKNOWN] * len(figures)),
        printable(process.allocator) if process.recorded else "not recorded",
        printable(process.note),
    ]


def _latencies(profile: Profile) -> list[list[str]]:
    return [
        [
            printable(held.call),
            *labels.percentiles(held),
            units.whole(held.samples),
        ]
        for held in profile.latencies
    ]


def _calls(profile: Profile) -> list[tuple[str, str]]:
    ordered = sorted(profile.calls.items(), key=lambda call: -call[1])
    return [(printable(name), units.whole(count)) for name, count in ordered]


@dataclass(frozen=True)
class FlameView:
    """The section of whole stacks. The boxes are in the page's data; these are the words."""

    measures: list[tuple[str, str]]
    """Name in the data, and what a reader chooses by; those that have nothing are left out."""
    note: str
    threads: list[str]
    runtime: bool
    """Whether there are functions that can be hidden."""
    sliced: bool
    """Whether a part of the time can be chosen."""
    live: Figure | None
    """Bytes in use over time by site."""


_MEASURES = {
    "bytes": "Bytes allocated",
    "allocations": "Allocations",
    "peak": "Bytes in use at the peak",
    "temporary": "Temporary allocations",
    "live-at-exit": "Bytes never freed",
}


_SPAN = (
    " A part of the time can be chosen: then it shows what was allocated in that time, and of bytes in use "
    "those at its highest moment."
)


def flame_view(flame: Flame) -> FlameView:
    """The section's words."""
    estimated = " Estimated from samples." if flame.estimated else ""
    return FlameView(
        measures=[(name, label) for name, label in _MEASURES.items() if any(flame.own[name])],
        note=f"Functions with less than {units.percent(flame.least)} of every measure are counted as part of "
        f"their callers.{estimated}{_SPAN if flame.slices else ''}",
        threads=[printable(name) for name in flame.slices.threads] if flame.slices else [],
        runtime=bool(flame.runtime),
        sliced=flame.slices is not None,
        live=figures.of_flame(flame),
    )


@dataclass(frozen=True)
class LineView:
    """A line of the source."""

    number: int
    text: str
    bytes: str
    allocations: str
    allocates: bool


@dataclass(frozen=True)
class ExcerptView:
    """The source of a function."""

    function: str
    place: str
    lines: list[LineView]


@dataclass(frozen=True)
class SourceView:
    """The section of source lines."""

    excerpts: list[ExcerptView]


def source_view(source: list[Excerpt]) -> SourceView:
    """The section's words."""
    return SourceView(
        excerpts=[
            ExcerptView(printable(each.function), printable(each.file), [_line(line) for line in each.lines])
            for each in source
        ],
    )


def _line(line: SourceLine) -> LineView:
    allocates = line.allocations > 0
    return LineView(
        number=line.number,
        text=printable(line.text),
        bytes=units.size(line.bytes) if allocates else "",
        allocations=units.count(line.allocations) if allocates else "",
        allocates=allocates,
    )
