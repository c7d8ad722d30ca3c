"""A report: answers, each made of parts that the capabilities add. Nothing here has to be measured."""

from typing import Literal, TypeVar

from reap.answer.part import Part
from reap.base.records import Record
from reap.launch.records import Machine

SCHEMA = "report"
VERSION = 3
"""Of the report. Raised when a field changes its meaning; new fields do not raise it."""

FIELDS: dict[str, object] = {
    "profile": None,
    "flame": None,
    "source": None,
    "difference": None,
    "changed": None,
    "check": None,
    "comparison": None,
    "diagnosis": None,
    "fragmented": None,
    "fragmented_verdict": None,
    "tuned": None,
    "drag": None,
    "wall": None,
    "causes": None,
    "stacks": [],
}
"""The fields of all parts in the order of the JSON, and what they are where a part is missing."""

COLUMNS = ("headline", "share", "cpu", "memory", "most")
"""Of an overview: the verdict, the share of time, the lowest CPU ratio, its memory, the most bytes in use."""

Kind = TypeVar("Kind", bound=Part)


class Evidence(Record, frozen=True, kw_only=True):
    """One measured fact behind the verdict."""

    statement: str
    """A sentence with its figure and interval."""
    source: Literal["recording", "comparison", "sampling", "simulation", "machine", "kernel", "runtime"]


class Answer(Record, frozen=True, kw_only=True):
    """All that is known of one program."""

    title: str
    command: list[str]
    parts: list[Part] = []
    """What was asked for, in the order of the page."""

    def part(self, kind: type[Kind]) -> Kind | None:
        """The part of this kind, or None."""
        return next((each for each in self.parts if isinstance(each, kind)), None)


class Head(Record, frozen=True, kw_only=True):
    """Head of every `--json`; the fields of the command follow."""

    schema: str
    """The name of its JSON Schema, `docs/schema/NAME.schema.json`."""
    version: int
    """Of that schema. Raised when a field changes its meaning or goes."""
    reap_version: str
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    made_by: list[str]
    """The command line that made it."""


class Report(Head, frozen=True, kw_only=True):
    """One file's worth: answers for one or more programs."""

    schema: str = SCHEMA
    version: int = VERSION
    answers: list[Answer]
