"""Memory over time as one HTML page that needs nothing else and runs nothing."""

from collections.abc import Sequence

import markupsafe

from reap.base import units
from reap.base.text import command_line
from reap.draw import areas as areas_svg
from reap.draw import html
from reap.launch.host.rows import machine_rows
from reap.launch.records import Machine
from reap.rss.analyse import thinned
from reap.rss.judge import judge
from reap.rss.records import NAMES, Residence
from reap.rss.terminal import remedy_words
from reap.rss.trials import words as trial_words
from reap.rss.trials.records import Trials

_LOWEST = (
    "files",
    "written",
    "shared",
    "stack",
    "data",
    "other",
    "named",
    "jvm",
    "java",
    "v8",
    "python",
    "php",
    "beam",
    "go_runtime",
    "go",
    "live",
    "heap",
    "inside",
    "cached",
)
"""What cannot be returned to the OS lies below what can."""
_POINTS = 300
"""More cannot be seen."""
_PROCESSES = 12
"""So many of a command's are drawn: a build has thousands."""


def page(
    title: str,
    seen: Sequence[tuple[str, Residence]],
    made_by: list[str],
    machine: Machine,
    trials: Trials | None = None,
) -> str:
    """Each process with its name, its verdict, its areas, and its parts in a table; of many the first.

    Above them what came of remedies that were tried.
    """
    left = len(seen) - _PROCESSES
    story = (
        f"The largest {_PROCESSES}. {left} smaller ones are in the file of all snapshots." if left > 0 else ""
    )
    shown = seen[:_PROCESSES]
    tried = trial_words.page(trials) if trials else {"headings": [], "rows": [], "settings": []}
    if trials:
        story = " ".join([*trial_words.sentences(trials), story]).strip()
    return render(title, shown, made_by, machine, story=story, judged=[], **tried)


def drawing(residence: Residence) -> str:
    """The areas of one process."""
    moments = thinned(residence.moments, _POINTS)
    order = [*_LOWEST, *(name for name in NAMES if name not in _LOWEST)]
    areas = [
        areas_svg.Area(NAMES[name], [float(getattr(each.parts, name)) for each in moments], shade)
        for shade, name in enumerate(order)
    ]
    return areas_svg.draw("Resident memory over time", [each.seconds for each in moments], areas)


def render(
    title: str, seen: Sequence[tuple[str, Residence]], made_by: list[str], machine: Machine, **more: object
) -> str:
    """The page; `more` are the words of the template that a scenario has besides."""
    return html.page(
        "rss/page.html.j2",
        title=title,
        parts=[_part(name, residence) for name, residence in seen],
        made_by=command_line(made_by),
        machine=machine_rows(machine),
        **more,
    )


def _part(name: str, residence: Residence) -> dict[str, object]:
    verdict = judge(residence)
    return {
        "title": name,
        "residence": residence,
        "rows": _rows(residence),
        "verdict": verdict,
        "drawing": markupsafe.Markup(drawing(residence)),  # noqa: S704 - every word in it is escaped
        "remedies": [remedy_words(each.what, each.environment, each.allocator) for each in verdict.remedies],
    }


def _rows(residence: Residence) -> list[tuple[str, list[str]]]:
    """Each part settled, at the peak and at the end, and their sums."""
    shown = (residence.settled, residence.largest, residence.last)
    rows = [
        (words, [units.size(getattr(each.parts, name)) for each in shown])
        for name, words in NAMES.items()
        if any(getattr(each.parts, name) for each in residence.moments)
    ]
    whole = "PSS" if residence.processes > 1 else "resident"
    return [*rows, (whole, [units.size(each.resident) for each in shown])]
