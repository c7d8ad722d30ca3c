"""A study's files: one page, its data as JSON and as CSV; and its conclusions on a terminal."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reap import units
from reap.experiment.card import Card
from reap.experiment.matrix_records import Arm
from reap.files import write_safely
from reap.records import Estimate
from reap.report import html, view, view_ismm2026, view_oopsla2002
from reap.report.study_view import usable
from reap.report.text import printable
from reap.study.measuring import without_own
from reap.study.records import Statistics, Study

PAGE, DATA, FIGURES = "study.html", "study.json", "figures.csv"
_VIEWS = {"ismm2026": view_ismm2026.view, "oopsla2002": view_oopsla2002.view}
_STYLES = {"holds": "green", "holds partly": "yellow", "outdated": "magenta", "does not hold": "red"}
_COLUMNS = (
    "part",
    "workload",
    "kind",
    "variant",
    "allocator",
    "level",
    "rounds",
    "figure",
    "unit",
    "value",
    "low",
    "high",
)
_RATIOS = ("normalised", "slowdown", "to_custom", "to_best", "to_allocator")
_METRICS = ("cpu", "peak_resident", "minor_faults")
_UNITS = {"average_size": "bytes", "total_bytes": "bytes", "max_bytes": "bytes", "total_over_max": "1"}
Row = list[str | int | float]
"""A line of the table, in the order of its columns; an empty word where a column says nothing of it."""


def write(study: Study, place: Path) -> list[Path]:
    """Writes the page and the data into the study's folder, over what was there. Throws ReapError."""
    files = {
        PAGE: page(study).encode(),
        DATA: msgspec.json.format(msgspec.json.encode(study), indent=1) + b"\n",
        FIGURES: figures(study).encode(),
    }
    return [write_safely(place / name, data, force=True) for name, data in files.items()]


def page(study: Study) -> str:
    """One HTML page that needs nothing else and runs nothing."""
    return html.render_own(
        "study.html.j2",
        study=study,
        shown=_VIEWS[study.plan.study](study),
        machine=view.machine_rows(study.machine),
        ratio=units.ratio_with_interval,
    )


def figures(study: Study) -> str:
    """All figures, as CSV with a line each: what figures and tables are drawn and conclusions judged from."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(
        [f"{each:.6g}" if isinstance(each, float) else each for each in row] for row in rows(study)
    )
    return text.getvalue()


def rows(study: Study) -> Iterator[Row]:
    """The same as lines of a table. Ratios and shares have the unit 1."""
    where: Row
    for part, measured in (("workloads", study.measured), ("occupancy", study.occupancy)):
        for one in measured:
            for arm in one.result.arms if one.result else []:
                yield from _arm(part, one.card, arm)
    for one in study.measured:
        variant = one.result.variants[-1] if one.result else ""
        for size, count in one.result.profile.sizes if one.result else []:
            where = ["sizes", one.card.name, one.card.kind, variant, "glibc", "", 1]
            yield [*where, f"objects of {size} bytes", "count", count, "", ""]
    for taken in study.statistics:
        yield from _taken(taken)
    for each in study.conclusions:
        for found in each.findings:
            where = ["conclusions", found.workload, "", "", "", "", ""]
            yield [*where, f"{each.claim} {found.figure}: {found.side}", "1", *_interval(found.ratio)]


def _arm(part: str, card: Card, arm: Arm) -> Iterator[Row]:
    where: Row = [part, card.name, card.kind, arm.variant, arm.allocator, arm.level, arm.rounds]
    if arm.problem:
        yield [*where, f"problem: {arm.problem}", "", "", "", ""]
    yield [*where, "cpu", "s", arm.cpu, "", ""]
    for metric in _METRICS:
        if (own := arm.normalised.get(metric)) is not None and metric != "cpu":
            yield [*where, metric, own.unit, own.value, "", ""]
        for field in _RATIOS:
            if (ratio := getattr(arm, field).get(metric)) is not None:
                yield [*where, f"{metric} {field}", "1", *_interval(ratio.ratio)]
    if arm.split is not None:
        yield [*where, "share of CPU time in the allocator", "1", *_interval(arm.split.share)]
    if arm.misses is not None:
        yield [*where, "first-level misses", "count", arm.misses.first, "", ""]
        yield [*where, "last-level misses", "count", arm.misses.last, "", ""]


def _taken(taken: Statistics) -> Iterator[Row]:
    where: Row = ["statistics", taken.card.name, taken.card.kind, without_own(taken.card), "glibc", "", 1]
    if taken.totals is not None:
        for name, total in msgspec.structs.asdict(taken.totals).items():
            unit = _UNITS.get(name, "count")
            if isinstance(total, Estimate):
                yield [*where, name, unit, *_interval(total)]
            elif isinstance(total, int | float):
                yield [*where, name, unit, total, "", ""]
    if taken.share is not None:
        yield [*where, "share of CPU time in the allocator", "1", *_interval(taken.share.share)]


def _interval(ratio: Estimate) -> Row:
    return [ratio.value, ratio.low, ratio.high]


def render(console: Console, study: Study) -> None:
    """The conclusions."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "the paper's conclusion", "here it", "measured here"):
        table.add_column(heading, overflow="fold")
    for each in study.conclusions:
        standing = Text(each.standing, style=_STYLES.get(each.standing, ""))
        table.add_row(each.question, each.claim, standing, printable(each.answer))
    console.print(table)
    for workload in study.measured:
        if workload.excluded:
            console.print(Text(f"not measured: {workload.card.name}: {printable(workload.excluded)}"))
        elif workload.result is not None and not usable(workload.result):
            console.print(Text(f"too few rounds in the time given: {workload.card.name}"))
