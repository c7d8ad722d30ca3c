"""Words and rows on sampled drag, the same on a terminal and on the page."""

from pathlib import Path

from reap.base import units
from reap.base.records import Estimate
from reap.base.text import printable, shortened
from reap.drag.sample.records import SampledProcess, SampledSite
from reap.recording.analyse.frames import with_via


def process_row(process: SampledProcess) -> list[str]:
    """Process, bytes allocated, samples, drag with its interval, peak."""
    drag = process.drag
    told = units.ratio_with_interval(drag) if drag else "inconclusive"
    name = f"{printable(Path(process.program).name)} ({process.pid})"
    return [name, units.size(process.allocated), str(process.samples), told, units.size(process.peak)]


def process_notes(process: SampledProcess) -> list[str]:
    """Notes on a process that a reader must know."""
    said = list(process.notes)
    if process.few and process.drag is not None:
        said.append(
            f"a few objects dominate (one alone is {units.percent(process.largest)} of the bytes in use over "
            "time): objects that were not sampled are not covered by the interval; use --engine exact"
        )
    return said


def site_rows(process: SampledProcess, most: int, width: int) -> list[tuple[SampledSite, list[str]]]:
    """The sites that drag most: share with its interval, function, location, bytes, samples."""
    return [
        (
            site,
            [
                _share(site.share),
                printable(shortened(site.function, width)),
                printable(shortened(with_via(site.location, site.via), width)),
                units.size(site.bytes),
                f"{site.samples}{', few' if site.few else ''}",
            ],
        )
        for site in process.sites[:most]
        if site.share.value > 0
    ]


def _share(share: Estimate) -> str:
    """Of all drag: where that is an estimate near nothing, a site's estimate may exceed it."""
    value, low, high = (units.percent(min(1.0, part)) for part in (share.value, share.low, share.high))
    return f"{value} [{low}, {high}]"


def verdict(held: list[SampledProcess]) -> list[str]:
    """Drag of the process that allocated most, in a sentence with its interval."""
    if not held:
        return ["No process of it allocated anything."]
    first = held[0]
    name = printable(Path(first.program).name)
    if first.drag is None:
        return [f"Inconclusive: too few objects of {name} were sampled. Use --engine exact, or a longer run."]
    bounded = not units.says_nothing(first.drag)
    told = units.ratio_with_interval(first.drag) if bounded else f"about {units.ratio(first.drag.value)}"
    said = [
        f"{name} holds {told} times the memory that it would if it freed each object after its last use"
        + ("." if bounded else "; there are too few samples for an interval.")
    ]
    site = next((each for each in first.sites if each.share.value > 0), None)
    if site is not None:
        share = units.percent(min(1.0, site.share.value))
        said.append(f"About {share} of that drag comes from {printable(shortened(site.function, 120))}.")
    return said
