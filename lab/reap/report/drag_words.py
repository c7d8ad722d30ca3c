"""Drag in words and rows, the same on a terminal and on the page."""

import shlex

from reap import units
from reap.analysis.drag_records import DragLevel, DragProcess, DragSite, Tally
from reap.report.text import printable, shortened

_LEVELS = {
    "objects": "objects: what the program asked for last, from malloc or from a pool",
    "chunks": "chunks: blocks of malloc and mappings, with whatever pools put into them",
}
_ENDS = {"exited": "", "exec": ", until it became another program", "killed": ", killed"}


def process_title(process: DragProcess) -> str:
    """Which process, and how it began and ended."""
    name = printable(shortened(shlex.join(process.command) or "a process", 70))
    forked = ", forked" if process.forked else ""
    total = process.levels[0].total
    return (
        f"{name} ({process.pid}{forked}{_ENDS[process.end]}): "
        f"{units.whole(total.objects)} objects, {units.size(total.bytes)}"
    )


def level_words(level: DragLevel) -> str:
    """What the level counts."""
    return _LEVELS[level.name]


def peak_rows(levels: list[DragLevel]) -> list[list[str]]:
    """Level, total drag, and the columns of Table 4 (OOPSLA 2002): peak, with immediate free, increase."""
    return [
        [
            level.name,
            f"{level.drag:.3f}",
            units.size(level.peak),
            units.size(level.needed_peak),
            units.percent(level.peak_ratio - 1),
        ]
        for level in levels
    ]


def place(site: DragSite) -> list[str]:
    """Function and location, cut to a table's width."""
    return [printable(shortened(site.function, 44)), printable(shortened(site.location, 36))]


def site_rows(level: DragLevel, most: int) -> list[tuple[DragSite, list[str]]]:
    """The sites that drag most: share of all drag, function, location, bytes, bytes dragged at the peak."""
    return [
        (
            site,
            [
                units.percent(site.share),
                *place(site),
                units.size(site.bytes),
                units.size(site.dragged_at_peak),
            ],
        )
        for site in level.sites[:most]
        if site.share > 0
    ]


def savings_rows(level: DragLevel, most: int) -> list[list[str]]:
    """The sites whose early free would lower the peak most: bytes saved, function, location."""
    worth = sorted((site for site in level.sites if site.saves), key=lambda site: -(site.saves or 0))
    return [[units.size(site.saves or 0), *place(site)] for site in worth[:most]]


def unused_rows(level: DragLevel) -> list[tuple[str, str]]:
    """Objects that were never accessed, and those that were written and never read."""
    never = max(level.sites, key=lambda site: site.never.bytes, default=None)
    unread = max(level.sites, key=lambda site: site.write_only.bytes, default=None)
    return [
        ("never accessed", _tally(level.never) + (_most(never) if level.never.bytes else "")),
        (
            "written and never read",
            _tally(level.write_only) + (_most(unread) if level.write_only.bytes else ""),
        ),
    ]


def _tally(tally: Tally) -> str:
    if not tally.objects:
        return "none"
    many = "object" if tally.objects == 1 else "objects"
    return f"{units.whole(tally.objects)} {many}, {units.size(tally.bytes)}"


def _most(site: DragSite | None) -> str:
    return "; most at {} ({})".format(*place(site)) if site else ""
