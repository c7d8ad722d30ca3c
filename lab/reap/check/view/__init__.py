"""What the page shows of a check, as plain strings, and the files for CI, one here for each."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.check import words
from reap.check.records import Check


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
    rows: list[Row]
    suppressed: list[tuple[str, str, str]]


HEADLINES = ("within budget", "over budget", "not checked")


def view(held: Check) -> CheckView:
    """The section's words and figures."""
    said = words.summary(held)
    headline = HEADLINES[2] if held.status else HEADLINES[1] if held.exceeded else HEADLINES[0]
    return CheckView(
        headline=headline,
        paragraph=f"{said[0].upper()}{said[1:]}.",
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
