"""Drag in words and rows, the same on a terminal and on the page."""

import shlex
from pathlib import Path

from reap.base import units
from reap.base.text import printable, shortened
from reap.drag.exact.records import DragLevel, DragProcess, DragSite, Tally
from reap.recording.analyse.frames import with_via

_LEVELS = {
    "objects": "objects: what the program allocates, from malloc or from a pool",
    "chunks": "chunks: blocks of malloc and mappings, with whatever pools put into them",
}
_BEFORE_FREE = "without release: accesses made while freeing are ignored"
_MATTERS = 0.01
"""From here on drag without release is another figure."""
_WIDTH = 36
"""Characters of a name on a terminal."""
_ENDS = {"exited": "", "exec": ", until it became another program", "killed": ", killed"}


def process_title(process: DragProcess) -> str:
    """Name of a process, how it began and ended, and what it allocated."""
    name = printable(shortened(shlex.join(process.command) or "a process", 70))
    forked = ", forked" if process.forked else ""
    total = process.levels[0].total
    return (
        f"{name} ({process.pid}{forked}{_ENDS[process.end]}): "
        f"{units.whole(total.objects)} objects, {units.size(total.bytes)}"
    )


def drawn(levels: list[DragLevel]) -> list[tuple[DragLevel, str]]:
    """Each level that is shown in full, with what it counts: without release only where that matters."""
    found = []
    for level in levels:
        found.append((level, _LEVELS[level.name]))
        if level.before_free and _differs(level, level.before_free):
            found.append((level.before_free, f"{level.name}, {_BEFORE_FREE}"))
    return found


def verdict(process: DragProcess) -> str:
    """Peak of the process, and what it would be if each object were freed after its last use."""
    level = process.levels[0]
    needed = [level.needed_peak]
    if level.before_free and _differs(level, level.before_free):
        needed = sorted([level.needed_peak, level.before_free.needed_peak])
    name = printable(Path(process.command[0]).name) if process.command else "the program"
    least = " to ".join(units.size(each) for each in dict.fromkeys(needed))
    return f"{name} needs {least} of its peak of {units.size(level.peak)}"


def headline(level: DragLevel) -> str:
    """Total drag in a sentence: a range where late accesses may use an object, or only free it."""
    early = level.before_free
    if early is None or not _differs(level, early):
        return f"Total drag {units.ratio(level.drag)}"
    late, soon = units.ratio(level.drag), units.ratio(early.drag)
    many = "object was" if level.released.objects == 1 else "objects were"
    return (
        f"Total drag {late} to {soon}: {units.whole(level.released.objects)} {many} last accessed just "
        f"before being freed. If those accesses use the objects, it is {late}; if they only free them (a "
        f"list walk, a destructor, a reference count), it is {soon}"
    )


def _differs(level: DragLevel, early: DragLevel) -> bool:
    return max(early.drag / level.drag, early.peak_ratio / level.peak_ratio) > 1 + _MATTERS


def peak_rows(levels: list[DragLevel]) -> list[list[str]]:
    """Level, total drag, and the columns of Table 4 (OOPSLA 2002): peak, with immediate free, increase."""
    rows = []
    for level in levels:
        rows.append([level.name, *_figures(level)])
        if level.before_free:
            rows.append([f"{level.name}, without release", *_figures(level.before_free)])
    return rows


def _figures(level: DragLevel) -> list[str]:
    return [
        units.ratio(level.drag),
        units.size(level.peak),
        units.size(level.needed_peak),
        units.percent(level.peak_ratio - 1),
    ]


def place(site: DragSite, width: int) -> list[str]:
    """Function and location, with what it called, cut to a table's width."""
    where = with_via(site.location, site.via)
    return [printable(shortened(site.function, width)), printable(shortened(where, width))]


def site_rows(level: DragLevel, most: int, width: int = _WIDTH) -> list[tuple[DragSite, list[str]]]:
    """The sites that drag most: share of all drag, function, location, bytes, bytes dragged at the peak."""
    return [
        (
            site,
            [
                units.percent(site.share),
                *place(site, width),
                units.size(site.bytes),
                units.size(site.dragged_at_peak),
            ],
        )
        for site in level.sites[:most]
        if site.share > 0
    ]


def savings_rows(level: DragLevel, most: int, width: int = _WIDTH) -> list[list[str]]:
    """The sites whose early free would lower the peak most: bytes saved, function, location."""
    worth = sorted((site for site in level.sites if site.saves), key=lambda site: -(site.saves or 0))
    return [[units.size(site.saves or 0), *place(site, width)] for site in worth[:most]]


def unused_rows(level: DragLevel, width: int = _WIDTH) -> list[tuple[str, str]]:
    """Objects that were never accessed, and those that were written and never read."""
    never = max(level.sites, key=lambda site: site.never.bytes, default=None)
    unread = max(level.sites, key=lambda site: site.write_only.bytes, default=None)
    return [
        ("never accessed", tally_words(level.never) + (_most(never, width) if level.never.bytes else "")),
        (
            "written and never read",
            tally_words(level.write_only) + (_most(unread, width) if level.write_only.bytes else ""),
        ),
    ]


def tally_words(tally: Tally) -> str:
    """Number of objects, and their bytes."""
    if not tally.objects:
        return "none"
    many = "object" if tally.objects == 1 else "objects"
    return f"{units.whole(tally.objects)} {many}, {units.size(tally.bytes)}"


def _most(site: DragSite | None, width: int) -> str:
    return "; most at {} ({})".format(*place(site, width)) if site else ""
