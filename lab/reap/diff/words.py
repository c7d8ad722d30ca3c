"""Labels and figures of a difference, the same on a terminal and on the page."""

from reap.base import units
from reap.base.records import Estimate
from reap.base.text import printable
from reap.diff.records import Budget, Change, ChangedFigure, ChangedPlace, Difference
from reap.recording.analyse.calls import UNITS, Measure

LABELS: dict[Measure, str] = {
    "allocations": "Allocations",
    "bytes": "Bytes allocated",
    "peak": "Peak (bytes in use)",
    "temporary": "Temporary allocations",
    "live-at-exit": "Live at exit (bytes)",
}
COLUMNS = ("before", "after", "change", "relative")


def value(held: Estimate, measure: Measure) -> str:
    """`1 234`, or of an estimate `~1 234`."""
    return ("" if held.exact else "~") + _form(measure, held.value)


def signed(held: Estimate, measure: Measure) -> str:
    """A change: `+12 KiB`, `-5`, `0`; an estimate with its interval."""
    text = ("" if held.exact else "~") + _signed(measure, held.value)
    if held.exact:
        return text
    return f"{text} ({_signed(measure, held.low)} to {_signed(measure, held.high)})"


def relative(change: Change) -> str:
    """`+5.0 %`; `new` and `gone` where one of the two is nothing."""
    before, after = change.before.value, change.after.value
    if before == after:
        return "0 %"
    if before <= 0:
        return "new"
    if after <= 0:
        return "gone"
    share = (after - before) / before
    return f"{'-' if share < 0 else '+'}{units.percent(abs(share))}"


def row(change: Change, measure: Measure) -> list[str]:
    """Under `COLUMNS`: both values and the change; a change that may be none says so."""
    unsure = "inconclusive" if change.verdict == "inconclusive" else relative(change)
    return [
        value(change.before, measure),
        value(change.after, measure),
        signed(change.change, measure),
        unsure,
    ]


def _form(measure: Measure, number: float) -> str:
    return units.size(number) if UNITS[measure] == "bytes" else units.count(number)


def _signed(measure: Measure, number: float) -> str:
    return ("+" if number > 0 else "") + _form(measure, number)


RESULT_COLUMNS = ("before", "after", "after / before")


def result_row(held: ChangedFigure) -> list[str]:
    """Under `RESULT_COLUMNS`: both values, and by how much they differ."""
    if held.ratio is None:
        return [_result(held, held.before), _result(held, held.after), "-"]
    unsure = " inconclusive" if held.verdict == "inconclusive" else ""
    by = "the same" if held.verdict == "same" else units.ratio_with_interval(held.ratio) + unsure
    return [_result(held, held.before), _result(held, held.after), by]


def _result(held: ChangedFigure, found: Estimate) -> str:
    if held.unit == "ratio":
        return units.ratio_with_interval(found)
    form = {"count": units.count, "bytes": units.size, "share": units.percent}[held.unit]
    return ("" if found.exact else "~") + form(found.value)


def place(held: ChangedPlace) -> str:
    """A function and its module, as they may be printed."""
    return printable(f"{held.function} ({held.module})")


def budget(held: Budget, difference: Difference) -> str:
    """`exceeded: peak > +5 %: +12 % (1.00 MiB to 1.12 MiB)`."""
    change = difference.totals[held.measure]
    measure = next(each for each in LABELS if each == held.measure)
    values = f"{value(change.before, measure)} to {value(change.after, measure)}"
    kept = {"exceeded": "exceeded", "kept": "kept", "inconclusive": "inconclusive, not exceeded"}
    return f"{kept[held.verdict]}: {held.text}: {signed(change.change, measure)}, {values}"
