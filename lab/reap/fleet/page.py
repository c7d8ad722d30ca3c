"""Totals of many recordings as one HTML page that needs nothing else and runs nothing."""

from reap.base.text import command_line
from reap.draw import html
from reap.fleet import words
from reap.fleet.records import Fleet
from reap.launch.host.rows import machine_rows
from reap.launch.records import Machine

_ROWS = 200
"""Of a table: a page is read, the JSON has the rest."""


def page(fleet: Fleet, made_by: list[str], machine: Machine) -> str:
    """The largest groups, each with its share as a bar, and the comparison."""
    found = fleet.comparison
    whole = fleet.bytes or 1.0
    return html.page(
        "fleet/page.html.j2",
        title=f"What {fleet.recordings} recordings allocate, by {fleet.by}",
        by=fleet.by,
        headings=words.HEADINGS[fleet.by],
        figures=words.FIGURES,
        rows=[
            (words.labels(each, fleet.by), f"{each.bytes / whole:.4f}", words.figures(each, fleet))
            for each in fleet.groups[:_ROWS]
        ],
        more=len(fleet.groups) + fleet.left_out - len(fleet.groups[:_ROWS]),
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
