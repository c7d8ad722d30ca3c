"""Renders sampled drag as one HTML page that needs nothing else and runs nothing."""

import shlex
from dataclasses import dataclass

import markupsafe

from reap.base.text import printable, shortened
from reap.drag import figures
from reap.drag.sample.records import SampledDrag, SampledProcess
from reap.drag.sample.words import process_notes, process_row, site_rows, verdict
from reap.draw import html

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
    drawing: markupsafe.Markup
    sites: list[SiteRow]
    notes: list[str]


def render(sampled: SampledDrag) -> str:
    """The page: a row for each process with its interval, and its sites."""
    held = sampled.processes
    return html.page(
        "drag/sample/page.html.j2",
        command=shortened(shlex.join(sampled.command), _LONGEST),
        verdict=verdict(held),
        rows=[process_row(each) for each in held[:_MOST_ROWS]],
        left_out=max(0, len(held) - _MOST_ROWS),
        notes=[printable(note) for note in sampled.notes],
        processes=[_process(each) for each in held[:_MOST_PROCESSES] if each.sites or process_notes(each)],
    )


def _process(process: SampledProcess) -> ProcessView:
    return ProcessView(
        title=process_row(process)[0],
        # Our own drawing, which escapes what it shows.
        drawing=markupsafe.Markup(  # noqa: S704
            figures.draw_sampled("Bytes in use, needed and dragged, over bytes allocated", process)
        ),
        sites=[
            SiteRow(cells=cells, stack=[printable(shortened(frame, _LONG)) for frame in site.stack])
            for site, cells in site_rows(process, _MOST_SITES, _WIDE)
        ],
        notes=[printable(note) for note in process_notes(process)],
    )
