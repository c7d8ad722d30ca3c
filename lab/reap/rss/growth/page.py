"""Growth of memory as one HTML page that needs nothing else."""

from collections.abc import Sequence

from reap.base import units
from reap.base.text import command_line
from reap.draw import html
from reap.draw.figure import Charts
from reap.launch.host.rows import machine_rows
from reap.launch.records import Machine
from reap.rss.growth import terminal, view
from reap.rss.growth.judge import GrowthVerdict
from reap.rss.growth.records import Growth, Snapshot


def page(
    growth: Growth,
    verdict: GrowthVerdict,
    of: Sequence[Sequence[Snapshot]],
    made_by: list[str],
    machine: Machine,
) -> str:
    """The verdict, all starts one after another as areas, and the trend of each part."""
    charts = Charts()
    areas = view.areas(of) if any(of) else None
    chart = charts.add(view.figure(areas), areas) if areas else None
    return html.charted_page(
        "rss/growth/page.html.j2",
        charts.data(),
        title=f"Does the memory of {command_line(growth.command)} grow?",
        verdict=verdict,
        chart=chart,
        rows=terminal.rows(growth, growth.resident) if growth.resident is not None else [],
        provenance=terminal.provenance(growth),
        notes=[*([growth.ended] if growth.ended else []), *growth.notes],
        length=units.duration(growth.seconds),
        made_by=command_line(made_by),
        machine=machine_rows(machine),
    )
