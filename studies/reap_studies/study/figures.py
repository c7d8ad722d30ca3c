"""All figures of a study as a table, a line each: what its page is drawn from, for other tools."""

import csv
import io
from collections.abc import Iterator

import msgspec

from reap.api import Arm, Estimate
from reap_studies.study.allocators.figures import drawn_places
from reap_studies.study.allocators.setups import PROGRAM
from reap_studies.study.ismm2026 import artefact
from reap_studies.study.measuring import without_own
from reap_studies.study.records import Statistics, Study
from reap_studies.workloads.records import Card

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


def table(study: Study) -> str:
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
    parts = {
        "workloads": study.measured,
        "occupancy": study.occupancy,
        "simulated": study.simulated,
        "peers": [each.measured for each in study.peers],
    }
    for part, measured in parts.items():
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
    yield from _counted(study)
    if study.plan.study == "ismm2026":
        yield from _artefact(study)
    yield from _wall(study)
    yield from _evaluated(study)
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


def _artefact(study: Study) -> Iterator[Row]:
    """Ratios of elapsed time that the authors of ISMM 2026 measured; ours of CPU time below each."""
    for each in artefact.compared(study.measured):
        variant = "custom" if each.figure == artefact.CUSTOM_SLOWED else "naive"
        level = artefact.CLEAN if each.figure == artefact.NAIVE_TO_CUSTOM else artefact.ADVERSE
        where: Row = [variant, each.allocator, level]
        theirs = ["artefact", each.program, "", *where, each.runs]
        yield [*theirs, f"elapsed {each.figure}", "1", *_interval(each.artefact)]
        if each.here is not None:
            ours = ["artefact", each.workload, "", *where, ""]
            yield [*ours, f"cpu {each.figure}", "1", *_interval(each.here)]


def _counted(study: Study) -> Iterator[Row]:
    """High-water marks, drag, and sections 4.3 and 7.5 of OOPSLA 2002."""
    where: Row
    for drag in study.drag:
        for name, seen in (("objects", drag.objects), ("chunks", drag.chunks)):
            if seen is not None:
                where = ["drag", drag.card.name, drag.card.kind, seen.variant, "valgrind", "", 1]
                yield [*where, f"total drag of {name}", "1", seen.level.drag, "", ""]
                yield [*where, f"peak of {name}", "bytes", seen.level.peak, "", ""]
                yield [*where, f"peak of {name}, freed at once", "bytes", seen.level.needed_peak, "", ""]
    for memory in study.memory:
        for mark in memory.marks:
            where = ["memory", memory.card.name, memory.card.kind, mark.variant, mark.allocator, "adv0", 1]
            yield [*where, "most asked of the system", "bytes", mark.asked, "", ""]
    for curve in study.buffers.curves if study.buffers else []:
        for point in curve.points:
            where = ["section 4.3", curve.idiom, "", curve.memory, "", "", 1]
            yield [*where, f"live after {point.work}", "bytes", point.live, "", ""]
            yield [*where, f"held after {point.work}", "bytes", point.held, "", ""]
    for pooled in study.apache.pooled if study.apache else []:
        where = ["section 7.5", "mod-bc", "", pooled.way, "", "", len(pooled.peak_resident)]
        for name, unit in (("objects", "count"), ("asked", "bytes"), ("freed", "count"), ("held", "bytes")):
            yield [*where, name, unit, getattr(pooled, name), "", ""]
        for number, resident in enumerate(pooled.peak_resident, 1):
            yield [*where, f"peak_resident, round {number}", "bytes", resident, "", ""]


def _wall(study: Study) -> Iterator[Row]:
    """Every figure of every run of the allocator wall."""
    for each in study.wall.samples if study.wall else []:
        for name, value in each.values.items():
            where: Row = [each.part, each.setting, "", "", each.arm, "", each.round + 1]
            yield [*where, name, "ns" if name.endswith("_ns") else "1", value, "", ""]


def _evaluated(study: Study) -> Iterator[Row]:
    """Times by round, and what was asked of the system."""
    where: Row
    found = study.evaluated
    for timed in found.timed if found else []:
        for series in timed.sound:
            where = [timed.name, timed.card.name, timed.card.kind, "", series.allocator, "", len(series.wall)]
            for number, (wall, cpu, most) in enumerate(
                zip(series.wall, series.cpu, series.resident, strict=False), 1
            ):
                yield [*where, f"wall, round {number}", "s", wall, "", ""]
                yield [*where, f"cpu, round {number}", "s", cpu, "", ""]
                yield [*where, f"peak_resident, round {number}", "bytes", most, "", ""]
    consumed = found.consumed if found else None
    for run in consumed.runs if consumed else []:
        where = ["figure 3", PROGRAM, "", "", run.allocator, "", 1]
        for at in drawn_places(run):
            call = run.calls[at]
            yield [*where, f"asked of the system after {call}", "bytes", run.asked[at], "", ""]
            yield [*where, f"resident after {call}", "bytes", run.resident[at], "", ""]
            yield [*where, f"live after {call}", "bytes", run.live[at], "", ""]


def _interval(ratio: Estimate) -> Row:
    return [ratio.value, ratio.low, ratio.high]
