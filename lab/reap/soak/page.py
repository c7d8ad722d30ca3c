"""A soak as one HTML page that needs nothing else and runs nothing."""

from collections.abc import Sequence

import markupsafe

from reap.base import units
from reap.base.text import command_line
from reap.draw import areas, html
from reap.launch.host.rows import machine_rows
from reap.launch.records import Machine
from reap.soak import terminal
from reap.soak.judge import SoakVerdict
from reap.soak.records import WORDS, Snapshot, Soak

_POINTS = 300
"""More cannot be seen."""
_ORDER = ("files", "other", "live", "heap", "free", "lazy_free")
"""What cannot be returned to the OS lies below what can."""


def page(
    soak: Soak,
    verdict: SoakVerdict,
    of: Sequence[Sequence[Snapshot]],
    made_by: list[str],
    machine: Machine,
) -> str:
    """The verdict, all starts one after another as areas, and the trend of each part."""
    return html.page(
        "soak/page.html.j2",
        title=f"Does the memory of {command_line(soak.command)} grow?",
        verdict=verdict,
        drawing=markupsafe.Markup(_drawing(of)) if any(of) else "",  # noqa: S704 - every word is escaped
        rows=terminal.rows(soak, soak.resident) if soak.resident is not None else [],
        provenance=terminal.provenance(soak),
        notes=[*([soak.ended] if soak.ended else []), *soak.notes],
        length=units.duration(soak.seconds),
        made_by=command_line(made_by),
        machine=machine_rows(machine),
    )


def _drawing(of: Sequence[Sequence[Snapshot]]) -> str:
    times, shown = _joined(of)
    layers = [
        areas.Area(WORDS[name], [float(each.groups[name]) for each in shown], shade)
        for shade, name in enumerate(_ORDER)
    ]
    return areas.draw("Resident memory over time", times, layers)


def _joined(of: Sequence[Sequence[Snapshot]]) -> tuple[list[float], list[Snapshot]]:
    """The starts one after another, thinned out; and when each snapshot was, without the time between."""
    times: list[float] = []
    shown: list[Snapshot] = []
    before = 0.0
    for start in of:
        times += [before + each.seconds - start[0].seconds for each in start]
        shown += start
        before = times[-1]
    step = max(1, -(-len(shown) // _POINTS))
    return times[::step], shown[::step]
