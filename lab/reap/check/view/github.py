"""A check as annotations of GitHub Actions: lines that its runner reads from what a step prints."""

from reap.base.text import printable
from reap.check import words
from reap.check.records import Check, Judged


def annotations(held: Check) -> list[str]:
    """An error for each exceeded limit, where most is allocated; else one for all that was not measured.

    What is inconclusive is a warning.
    """
    title = f"reap check: {held.program}"
    if held.status:
        return [_command("error", {"title": title}, words.summary(held))]
    unmeasured = []
    if held.missing and not held.exceeded:
        text = "\n".join([words.summary(held), *held.missing, words.advice(held)])
        unmeasured = [_command("error", {"title": title}, text)]
    return unmeasured + [
        _command(
            "error" if each.verdict == "exceeded" else "warning",
            {"title": title, **_where(each)},
            _said(each),
        )
        for each in held.judged
        if each.verdict in ("exceeded", "inconclusive")
    ]


def _said(each: Judged) -> str:
    return "\n".join(
        [words.sentence(each), *(words.place(place, each.limit.figure) for place in each.places)]
    )


def _where(each: Judged) -> dict[str, str]:
    place = next((place for place in each.places if place.file), None)
    if place is None:
        return {}
    return {"file": words.source(place.file), "line": str(max(place.line, 1))}


def _command(kind: str, properties: dict[str, str], text: str) -> str:
    said = ",".join(f"{name}={_escaped(printable(value), ':,')}" for name, value in properties.items())
    return f"::{kind} {said}::{_escaped(text, '')}"


def _escaped(text: str, further: str) -> str:
    """As the runner's own toolkit does: percent first."""
    for character in f"%\r\n{further}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
