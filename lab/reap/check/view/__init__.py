"""Check as its page shows it, in plain strings, and the files for CI, a module here for each."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.check import words
from reap.check.records import Check
from reap.recording.analyse.coverage import sentence


@dataclass(frozen=True)
class Row:
    """One limit."""

    label: str
    found: str
    most: str
    asked: str
    verdict: str
    places: list[str]


@dataclass(frozen=True)
class CheckView:
    """The section's words and figures."""

    headline: str
    paragraph: str
    coverage: str
    """A sentence; empty where nothing was recorded."""
    rows: list[Row]
    suppressed: list[tuple[str, str, str]]


HEADLINES = ("within budget", "over budget", "not checked", "not measured")


def headline(held: Check) -> str:
    """One of `HEADLINES`."""
    kept, over, failed, unmeasured = HEADLINES
    if held.status:
        return failed
    if held.exceeded:
        return over
    return unmeasured if held.missing else kept


def view(held: Check) -> CheckView:
    """The section's words and figures."""
    said = words.summary(held)
    return CheckView(
        headline=headline(held),
        paragraph=f"{said[0].upper()}{said[1:]}.",
        coverage=f"{sentence(held.coverage)}." if held.coverage else "",
        rows=[
            Row(
                label=words.LABELS[each.limit.figure],
                found=words.measured(each.limit.figure, each.lowest),
                most=words.amount(each.limit.figure, each.limit.most),
                asked=printable(each.limit.text),
                verdict=each.verdict,
                places=[words.place(place, each.limit.figure) for place in each.places],
            )
            for each in held.judged
        ],
        suppressed=[
            (
                printable(each.pattern),
                units.size(each.bytes),
                "runtime library" if each.runtime else "asked for",
            )
            for each in held.suppressed
        ],
    )
