"""Totals of many recordings as one HTML page that needs nothing else and runs nothing."""

import markupsafe

from reap.base.records import exactly
from reap.base.text import command_line
from reap.draw import bars, html
from reap.fleet import words
from reap.fleet.records import Fleet
from reap.launch.host.rows import machine_rows
from reap.launch.records import Machine

_BARS = 20
_ROWS = 200
"""Of a table: a page is read, the JSON has the rest."""
_LETTERS = 60


def page(fleet: Fleet, made_by: list[str], machine: Machine) -> str:
    """The largest groups as bars, all as a table, and the comparison."""
    found = fleet.comparison
    return html.page(
        "fleet/page.html.j2",
        title=f"What {fleet.recordings} recordings allocate, by {fleet.by}",
        by=fleet.by,
        headings=words.HEADINGS[fleet.by],
        figures=words.FIGURES,
        rows=[(words.labels(each, fleet.by), words.figures(each, fleet)) for each in fleet.groups[:_ROWS]],
        more=len(fleet.groups) + fleet.left_out - len(fleet.groups[:_ROWS]),
        drawing=markupsafe.Markup(_drawing(fleet)),  # noqa: S704 - every word is escaped
        provenance=words.provenance(fleet),
        notes=words.notes(fleet),
        skipped=fleet.skipped[:_ROWS],
        comparison=found,
        verdict=words.verdict(found) if found else [],
        changes=words.CHANGES,
        changed=[
            ("all sites", words.change_row(found.total, found.measure)),
            *(
                (
                    words.site(each.function, each.module, each.location),
                    words.change_row(each.change, found.measure),
                )
                for each in found.sites[:_ROWS]
            ),
        ]
        if found
        else [],
        compared_from=words.compared_from(found) if found else "",
        made_by=command_line(made_by),
        machine=machine_rows(machine),
    )


def _drawing(fleet: Fleet) -> str:
    whole = fleet.bytes or 1.0
    most = max((each.bytes for each in fleet.groups), default=0.0) or 1.0
    groups = [
        (
            "",
            [
                bars.Bar(
                    " ".join(words.labels(each, fleet.by))[:_LETTERS],
                    exactly(each.bytes / most),
                    1,
                    words.figures(each, fleet)[3] if whole else "",
                )
            ],
        )
        for each in fleet.groups[:_BARS]
    ]
    return bars.draw(f"Share of all bytes, by {fleet.by}", groups, unit_line=False)
