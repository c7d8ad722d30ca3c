"""A process's memory over time as one HTML page that needs nothing else and runs nothing."""

import markupsafe

from reap.analysis.residence_records import NAMES, Residence
from reap.diagnosis.residence import ResidenceVerdict
from reap.launch.records import Machine
from reap.report import areas_svg, html, view
from reap.report.terminal_residence import remedy_words


def page(parts: list[tuple[str, Residence, ResidenceVerdict]], made_by: list[str], machine: Machine) -> str:
    """Each with its name, its verdict, its areas, and its parts in a table."""
    return html.render_own(
        "residence.html.j2",
        parts=[
            {
                "title": title,
                "residence": residence,
                "verdict": verdict,
                "drawing": markupsafe.Markup(drawing(title, residence)),  # noqa: S704 - escaped where drawn
                "remedies": [
                    remedy_words(each.what, each.environment, each.allocator) for each in verdict.remedies
                ],
            }
            for title, residence, verdict in parts
        ],
        names=NAMES,
        made_by=view.command_line(made_by),
        machine=view.machine_rows(machine),
    )


def drawing(title: str, residence: Residence) -> str:
    """The areas of one process; what cannot be changed lies lowest."""
    moments = residence.moments
    lowest_first = ["files", "written", "shared", "stack", "other", "live", "heap", "inside"]
    order = [*lowest_first, *(name for name in NAMES if name not in lowest_first)]
    areas = [
        areas_svg.Area(NAMES[name], [float(getattr(each.parts, name)) for each in moments]) for name in order
    ]
    return areas_svg.draw(title, [each.seconds for each in moments], areas)
