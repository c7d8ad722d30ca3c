"""Differences between two reports of `--json`: figures of recordings, and ratios of comparisons."""

import math
from collections.abc import Iterator
from typing import Literal

from reap.answer.part import Part
from reap.answer.records import Answer, Report
from reap.base.records import Estimate, exactly
from reap.diff.records import ChangedFigure, ChangedResults, Verdict
from reap.experiment.records import Comparison
from reap.recording.records import Profile

Unit = Literal["count", "bytes", "share", "ratio"]


class Profiled(Part, frozen=True, kw_only=True):
    """A recording, of whatever command."""

    profile: Profile


class Compared(Part, frozen=True, kw_only=True):
    """A comparison, of whatever command."""

    comparison: Comparison


KINDS: tuple[type[Part], ...] = (Profiled, Compared)
"""What is read of a report."""


def changed(files: tuple[str, str], before: Report, after: Report) -> ChangedResults:
    """Every figure that both have, by the titles of their answers and in the order of the second."""
    old = {answer.title: answer for answer in before.answers}
    figures = []
    for answer in after.answers:
        if answer.title not in old:
            continue
        known = {name: (unit, value) for name, unit, value in _figures(old[answer.title])}
        figures += [
            _figure(answer.title, name, unit, known[name][1], value)
            for name, unit, value in _figures(answer)
            if name in known and known[name][0] == unit
        ]
    return ChangedResults(
        before=files[0], after=files[1], figures=figures, notes=_notes(files, before, after)
    )


def _notes(files: tuple[str, str], before: Report, after: Report) -> list[str]:
    said = []
    if before.machine != after.machine:
        said.append("They were made on different machines, or one has changed: times may differ by that.")
    titles = [[answer.title for answer in report.answers] for report in (before, after)]
    for file, mine, other in ((files[0], *titles), (files[1], *titles[::-1])):
        if missing := [title for title in mine if title not in other]:
            said.append(f"Only {file} has {', '.join(missing)}.")
    for file, report in zip(files, (before, after), strict=True):
        triage = [
            answer.title
            for answer in report.answers
            if (part := answer.part(Profiled)) is not None and part.profile.depth == "triage"
        ]
        if triage:
            said.append(f"{file}: {', '.join(triage)} in triage, so most bytes in use are estimated.")
    said.append(
        "Figures without an interval are of one run each, so a change between runs looks like one between "
        "builds. Ratios are of paired rounds; a change within the 95 % CI is inconclusive."
    )
    return said


def _figures(answer: Answer) -> Iterator[tuple[str, Unit, Estimate]]:
    recorded, compared = answer.part(Profiled), answer.part(Compared)
    if recorded is not None and recorded.profile.attached is None:
        totals = recorded.profile.totals
        yield "allocations", "count", exactly(totals.total_objects)
        yield "bytes allocated", "bytes", exactly(totals.total_bytes)
        yield "most objects in use", "count", totals.max_objects
        yield "most bytes in use", "bytes", totals.max_bytes
        yield "temporary allocations", "share", recorded.profile.temporary
        if recorded.profile.share is not None:
            yield "time in the allocator", "share", recorded.profile.share.share
    if compared is not None:
        held = compared.comparison
        for side in held.sides:
            for metric, ratio in side.ratios.items():
                name = f"{metric.replace('_', ' ')}, {side.allocator} / {held.baseline}"
                yield name, "ratio", ratio.ratio


def _figure(program: str, name: str, unit: Unit, before: Estimate, after: Estimate) -> ChangedFigure:
    ratio = _ratio(before, after)
    if before.exact and after.exact:
        low = high = after.value - before.value
    elif ratio is None:
        low, high = after.low - before.high, after.high - before.low
    else:
        low, high = ratio.low - 1, ratio.high - 1
    verdict: Verdict = "inconclusive"
    if low == high == 0:
        verdict = "same"
    elif low > 0 or high < 0:
        verdict = "grew" if low > 0 else "shrank"
    return ChangedFigure(
        program=program, figure=name, unit=unit, before=before, after=after, ratio=ratio, verdict=verdict
    )


def _ratio(before: Estimate, after: Estimate) -> Estimate | None:
    """Of independent estimates: errors of logarithms add up as squares."""
    if min(before.low, after.low) <= 0 or not math.isfinite(before.high + after.high):
        return None
    value = after.value / before.value
    below = math.hypot(math.log(after.value / after.low), math.log(before.high / before.value))
    above = math.hypot(math.log(after.high / after.value), math.log(before.value / before.low))
    return Estimate(value=value, low=value * math.exp(-below), high=value * math.exp(above))
