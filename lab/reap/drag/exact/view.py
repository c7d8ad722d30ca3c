"""Drag as pages show it, in plain strings: figures are formatted here, the template places them."""

from dataclasses import dataclass, field

from reap.base.text import printable, shortened
from reap.drag import figures
from reap.drag.exact.records import DragLevel, DragProcess, DragProfile, DragSite
from reap.drag.exact.words import (
    drawn,
    headline,
    peak_rows,
    process_title,
    savings_rows,
    site_rows,
    tally_words,
    unused_rows,
)
from reap.draw.figure import Charts

_MOST_PROCESSES = 8
_MOST_ROWS = 24
"""Processes that have a row in the overview."""
_FIRST, _LATER = 30, 8
"""Sites of the process that allocated most, and of each of the others."""
_WIDE = 120
"""Characters of a name: a page breaks lines where a terminal has to cut."""
_LONG = 400
"""Characters of a frame: names of templates have thousands."""
_ENGINES = {
    "exact": "Counted by the exact engine, which sees every access.",
    "recompiled": "Counted in a program that was built for it: accesses of other code are not seen.",
}


@dataclass(frozen=True)
class SiteRow:
    """One site that drags: its cells, and what is behind them."""

    cells: list[str]
    unused: list[str]
    stack: list[str]


@dataclass(frozen=True)
class LevelView:
    """Objects, or chunks."""

    name: str
    words: str
    drawings: list[dict[str, object]]
    """Its figures; on a page of its own each with the section whose data it is drawn from."""
    sites: list[SiteRow]
    savings: list[list[str]]
    unused: list[tuple[str, str]]


@dataclass(frozen=True)
class ProcessView:
    """One process."""

    title: str
    headline: str
    peaks: list[list[str]]
    levels: list[LevelView]
    notes: list[str]


@dataclass(frozen=True)
class DragView:
    """A run under an engine."""

    engine: str
    processes: list[ProcessView]
    overview: list[list[str]]
    """Where there are several: each with its figures as `peak_rows` has them, for objects."""
    left_out: int
    notes: list[str] = field(default_factory=list)


def view(profile: DragProfile, charts: Charts | None = None) -> DragView:
    """View of a profile: in full the processes that allocated most, in the overview many.

    Data of its figures are added to `charts`; without them the page has the answer that the profile is of.
    """
    held = profile.processes
    rows = [[process_title(each), *peak_rows(each.levels)[0][1:]] for each in held[:_MOST_ROWS]]
    return DragView(
        engine=_ENGINES[profile.engine],
        processes=[
            _process(each, _LATER if number else _FIRST, charts, number)
            for number, each in enumerate(held[:_MOST_PROCESSES])
            if any(level.curve for level in each.levels)
        ],
        overview=rows if len(rows) > 1 else [],
        left_out=max(0, len(held) - _MOST_ROWS),
        notes=[printable(note) for note in profile.notes],
    )


def _process(process: DragProcess, most: int, charts: Charts | None, number: int) -> ProcessView:
    return ProcessView(
        title=process_title(process),
        headline=headline(process.levels[0]),
        peaks=peak_rows(process.levels),
        levels=[
            _level(level, words, most, charts, f"{number}_{_place(level, process.levels)}")
            for level, words in drawn(process.levels)
        ],
        notes=[printable(note) for note in process.notes],
    )


def _place(level: DragLevel, levels: list[DragLevel]) -> str:
    """Place of a level: its number, or that of the one of which it leaves out the last accesses."""
    number = next(at for at, each in enumerate(levels) if level is each or level is each.before_free)
    return f"{number}" if level is levels[number] else f"{number}_early"


def _level(level: DragLevel, words: str, most: int, charts: Charts | None, place: str) -> LevelView:
    if charts is None:
        drawings: list[dict[str, object]] = [{"figure": figure} for figure in figures.of_level(level, place)]
    else:
        data = figures.data_of(level)
        drawings = [charts.add(figure, data) for figure in figures.of_level(level)]
    return LevelView(
        name=level.name,
        words=words,
        drawings=drawings,
        sites=[_site(site, cells) for site, cells in site_rows(level, most, _WIDE)],
        savings=savings_rows(level, most, _WIDE),
        unused=unused_rows(level, _WIDE),
    )


def _site(site: DragSite, cells: list[str]) -> SiteRow:
    named = [("never accessed", site.never), ("written and never read", site.write_only)]
    return SiteRow(
        cells=cells,
        unused=[f"{what}: {tally_words(tally)}" for what, tally in named if tally.objects],
        stack=[printable(shortened(frame, _LONG)) for frame in site.stack],
    )
