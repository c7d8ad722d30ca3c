"""Drag as one HTML page that needs nothing else and runs nothing."""

import shlex
from pathlib import Path

import markupsafe

from reap import __version__
from reap.analysis.drag_records import DragLevel, DragProcess, DragProfile
from reap.files import write_safely
from reap.report import drag_svg, html
from reap.report.drag_words import level_words, peak_rows, process_title, savings_rows, site_rows, unused_rows

_MOST_PROCESSES = 8
_MOST_SITES = 40


def write(profile: DragProfile, path: Path | str, *, force: bool = False) -> Path:
    """Write the page to `path` and return the path. Raises ReapError as `write_safely` does."""
    return write_safely(path, render(profile).encode(), force=force)


def render(profile: DragProfile) -> str:
    """The page: for each process its table, its curves and its sites."""
    return html.render_own(
        "drag.html.j2",
        version=__version__,
        command=shlex.join(profile.command),
        processes=[_process(process) for process in profile.processes[:_MOST_PROCESSES]],
        left_out=max(0, len(profile.processes) - _MOST_PROCESSES),
        notes=profile.notes,
    )


def _process(process: DragProcess) -> dict[str, object]:
    return {
        "title": process_title(process),
        "peaks": peak_rows(process.levels),
        "levels": [_level(level) for level in process.levels],
        "notes": process.notes,
    }


def _level(level: DragLevel) -> dict[str, object]:
    drawing = drag_svg.draw("Bytes in use, needed and dragged, over bytes allocated", level)
    return {
        "words": level_words(level),
        # Our own drawing, which escapes what it shows.
        "drawing": markupsafe.Markup(drawing),  # noqa: S704
        "sites": [
            {"cells": cells, "stack": site.stack, "never": site.never, "write_only": site.write_only}
            for site, cells in site_rows(level, _MOST_SITES)
        ],
        "savings": savings_rows(level, _MOST_SITES),
        "unused": unused_rows(level),
    }
