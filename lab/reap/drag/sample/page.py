"""Renders sampled drag as one HTML page that needs nothing else."""

import shlex
from dataclasses import dataclass

from reap.base.text import printable, shortened
from reap.drag import figures
from reap.drag.sample.records import SampledDrag, SampledProcess
from reap.drag.sample.words import process_notes, process_row, site_rows, verdict
from reap.draw import html
from reap.draw.figure import Charts

_LONGEST = 4000
"""Characters of a command: an argument can be a whole program."""
_MOST_ROWS = 24
"""Processes that have a row."""
_MOST_PROCESSES = 8
"""Processes whose sites are shown."""
_MOST_SITES = 30
_WIDE, _LONG = 120, 400
"""Characters of a name, and of a frame: names of templates have thousands."""


@dataclass(frozen=True)
class SiteRow:
    """One site: its cells, and the stack behind them."""

    cells: list[str]
    stack: list[str]


@dataclass(frozen=True)
class ProcessView:
    """One process, and where its objects come from."""

    title: str
    drawings: list[dict[str, object]]
    sites: list[SiteRow]
    notes: list[str]


def render(sampled: SampledDrag) -> str:
    """The page: a row for each process with its interval, and its sites."""
    held = sampled.processes
    charts = Charts()
    shown = [_process(each, charts) for each in held[:_MOST_PROCESSES] if each.sites or process_notes(each)]
    return html.figured_page(
        "drag/sample/page.html.j2",
        charts,
        command=shortened(shlex.join(sampled.command), _LONGEST),
        verdict=verdict(held),
        rows=[process_row(each) for each in held[:_MOST_ROWS]],
        left_out=max(0, len(held) - _MOST_ROWS),
        notes=[printable(note) for note in sampled.notes],
        processes=shown,
    )


def _process(process: SampledProcess, charts: Charts) -> ProcessView:
    return ProcessView(
        title=process_row(process)[0],
        drawings=[
            charts.add(figure, figures.data_of_samples(process)) for figure in figures.of_samples(process)
        ],
        sites=[
            SiteRow(cells=cells, stack=[printable(shortened(frame, _LONG)) for frame in site.stack])
            for site, cells in site_rows(process, _MOST_SITES, _WIDE)
        ],
        notes=[printable(note) for note in process_notes(process)],
    )
