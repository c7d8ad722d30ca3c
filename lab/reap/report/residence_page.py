"""Memory over time as one HTML page that needs nothing else and runs nothing."""

from collections.abc import Sequence

import markupsafe

from reap import units
from reap.analysis.residence import thinned
from reap.analysis.residence_records import NAMES, Residence
from reap.diagnosis.residence import judge
from reap.diagnosis.scenarios import Judged
from reap.experiment.scenario_records import Played
from reap.launch.records import Machine
from reap.report import areas_svg, html, scenario_table, view
from reap.report.terminal_residence import remedy_words

_LOWEST = ("files", "written", "shared", "stack", "other", "live", "heap", "inside")
"""What cannot be given back lies below what can."""
_POINTS = 300
"""More cannot be seen."""
_PROCESSES = 12
"""So many of a command's are drawn: a build has thousands."""


def page(title: str, seen: Sequence[tuple[str, Residence]], made_by: list[str], machine: Machine) -> str:
    """Each process with its name, its verdict, its areas, and its parts in a table; of many the first."""
    left = len(seen) - _PROCESSES
    story = f"The largest {_PROCESSES}. {left} smaller ones are in the file of looks." if left > 0 else ""
    shown = seen[:_PROCESSES]
    return _render(title, shown, made_by, machine, story=story, headings=[], rows=[], judged=[], settings=[])


def scenario_page(played: Played, judged: Sequence[Judged], made_by: list[str], machine: Machine) -> str:
    """The remedies side by side, what is said of them, and the memory of each over time."""
    headings, rows = scenario_table.table(played)
    seen = [(each.arm.name, each.residence) for each in played.tried if each.residence is not None]
    return _render(
        played.scenario.title,
        seen,
        made_by,
        machine,
        story=played.scenario.story,
        headings=headings,
        rows=rows,
        judged=judged,
        settings=scenario_table.settings(played),
    )


def drawing(title: str, residence: Residence) -> str:
    """The areas of one process."""
    moments = thinned(residence.moments, _POINTS)
    order = [*_LOWEST, *(name for name in NAMES if name not in _LOWEST)]
    areas = [
        areas_svg.Area(NAMES[name], [float(getattr(each.parts, name)) for each in moments], shade)
        for shade, name in enumerate(order)
    ]
    return areas_svg.draw(title, [each.seconds for each in moments], areas)


def _render(
    title: str, seen: Sequence[tuple[str, Residence]], made_by: list[str], machine: Machine, **more: object
) -> str:
    return html.render_own(
        "residence.html.j2",
        title=title,
        parts=[_part(name, residence) for name, residence in seen],
        made_by=view.command_line(made_by),
        machine=view.machine_rows(machine),
        **more,
    )


def _part(name: str, residence: Residence) -> dict[str, object]:
    verdict = judge(residence)
    return {
        "title": name,
        "residence": residence,
        "rows": _rows(residence),
        "verdict": verdict,
        "drawing": markupsafe.Markup(drawing(name, residence)),  # noqa: S704 - every word in it is escaped
        "remedies": [remedy_words(each.what, each.environment, each.allocator) for each in verdict.remedies],
    }


def _rows(residence: Residence) -> list[tuple[str, str, str]]:
    """Each part at the two moments that a reader asks for, and their sums."""
    largest, last = residence.largest, residence.last
    rows = [
        (words, units.size(getattr(largest.parts, name)), units.size(getattr(last.parts, name)))
        for name, words in NAMES.items()
    ]
    return [*rows, ("resident", units.size(largest.resident), units.size(last.resident))]
