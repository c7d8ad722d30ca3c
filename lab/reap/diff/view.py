"""Difference as the page shows it, in plain strings; the templates place them."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.diff import words
from reap.diff.records import ChangedFlame, ChangedPlace, ChangedResults, Difference
from reap.recording.analyse.calls import Measure


@dataclass(frozen=True)
class PlaceRow:
    """A function or a stack; the numbers are for sorting."""

    name: str
    stack: list[str]
    columns: list[tuple[float, str]]
    verdict: str


@dataclass(frozen=True)
class TotalRow:
    """One measure in total."""

    label: str
    cells: list[str]
    verdict: str


@dataclass(frozen=True)
class DifferenceView:
    """The section of totals, functions and stacks."""

    before: str
    after: str
    by: str
    totals: list[TotalRow]
    tables: list[tuple[str, str, list[PlaceRow]]]
    """Anchor, caption, rows."""
    budgets: list[str]


@dataclass(frozen=True)
class FlameView:
    """The words of the flame graph; its boxes are in the page's data."""

    measures: list[tuple[str, str]]
    note: str


def view(held: Difference) -> DifferenceView:
    """The section's words and figures."""
    by = next(measure for measure in words.LABELS if measure == held.by)
    return DifferenceView(
        before=printable(held.before.file),
        after=printable(held.after.file),
        by=words.LABELS[by].lower(),
        totals=[
            TotalRow(label, words.row(held.totals[measure], measure), held.totals[measure].verdict)
            for measure, label in words.LABELS.items()
        ],
        tables=[
            ("functions", "Functions that allocate", [_row(each, by) for each in held.functions]),
            ("stacks", "Whole stacks; open one for its frames", [_row(each, by) for each in held.stacks]),
        ],
        budgets=[printable(words.budget(each, held)) for each in held.budgets],
    )


@dataclass(frozen=True)
class ResultsView:
    """The section of two reports."""

    before: str
    after: str
    tables: list[tuple[str, list[TotalRow]]]
    """By program."""


def results_view(held: ChangedResults) -> ResultsView:
    """The section's words and figures."""
    programs = dict.fromkeys(each.program for each in held.figures)
    return ResultsView(
        before=printable(held.before),
        after=printable(held.after),
        tables=[
            (
                printable(program),
                [
                    TotalRow(printable(each.figure), words.result_row(each), each.verdict)
                    for each in held.figures
                    if each.program == program
                ],
            )
            for program in programs
        ],
    )


def _row(held: ChangedPlace, by: Measure) -> PlaceRow:
    change = held.changes[by]
    numbers = (change.before.value, change.after.value, change.change.value, change.change.value)
    return PlaceRow(
        name=words.place(held),
        stack=[printable(frame) for frame in held.stack],
        columns=list(zip(numbers, words.row(change, by), strict=True)),
        verdict=change.verdict,
    )


def flame_view(flame: ChangedFlame) -> FlameView:
    """The section's words; measures that neither recording has are left out."""
    estimated = " Estimated from samples: small changes may be none." if flame.estimated else ""
    return FlameView(
        measures=[
            (name, label)
            for name, label in sorted(words.LABELS.items(), key=lambda each: each[0] != "bytes")
            if any(flame.before[name]) or any(flame.after[name])
        ],
        note=f"Functions with less than {units.percent(flame.least)} of every measure are counted as part of "
        f"their callers.{estimated}",
    )
