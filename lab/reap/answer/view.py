"""The page as plain strings and lists, put together from the sections of an answer's parts."""

from dataclasses import dataclass

from reap.answer.part import Section
from reap.answer.records import COLUMNS, FIELDS, Answer, Report
from reap.base import units
from reap.base.text import command_line, printable

_ORDER = list(FIELDS)


@dataclass(frozen=True)
class AnswerView:
    """One program's part of the page."""

    anchor: str
    number: int
    title: str
    command: str
    overview: dict[str, str]
    parts: list[Section]
    notes: list[str]


def answers(report: Report) -> list[AnswerView]:
    """A view of each answer, in the report's order."""
    return [_answer(answer, number) for number, answer in enumerate(report.answers)]


def question(report: Report) -> str:
    """Question that the page answers: that of the parts that come first in each answer, where it is one."""
    asked = {part.QUESTION for answer in report.answers for part in answer.parts[:1]}
    return asked.pop() if len(asked) == 1 else "What does memory allocation cost?"


def overview(answer: Answer) -> dict[str, str]:
    """The columns of an overview of several programs; what no part knows is a dash."""
    known = dict.fromkeys(COLUMNS, units.UNKNOWN)
    for part in answer.parts:
        known.update(part.overview())
    return known


def _answer(answer: Answer, number: int) -> AnswerView:
    sections = [section for part in answer.parts for section in part.sections()]
    return AnswerView(
        anchor=f"answer-{number}",
        number=number,
        title=printable(answer.title),
        command=command_line(answer.command),
        overview=overview(answer),
        parts=sections,
        notes=[
            note
            for section in sorted(sections, key=lambda each: _ORDER.index(each.field))
            for note in section.notes
        ],
    )
