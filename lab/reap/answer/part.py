"""Part that a capability adds to an answer: fields in the JSON, sections of the page, and its cut."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

from reap.base.records import Record


@dataclass(frozen=True)
class Limits:
    """Limits of what a page keeps of a part."""

    sites: int
    frames: int
    points: int
    processes: int
    stacks: int
    """Of the flame graph: those with the most samples."""
    text: int
    """Characters of one string: an argument can be a whole program."""


@dataclass(frozen=True)
class Section:
    """A part as the page shows it."""

    template: str
    """Its file, as `reap.draw.html.own` names files; it finds this record as `part`."""
    field: str
    """The field of the JSON that it shows."""
    view: object
    """Plain strings and lists, for the template to place."""
    notes: list[str] = dataclasses.field(default_factory=list)
    """What to know about its figures, for the end of the answer."""
    libraries: tuple[str, ...] = ()
    """Scripts of others that it needs besides, in their order, as `reap.draw.html.vendored` names them."""


class Part(Record, frozen=True, kw_only=True):
    """Results of one capability on a program. Its fields are fields of the answer's JSON, see `FIELDS`."""

    QUESTION: ClassVar[str] = ""
    """What a page that begins with this part answers; it is the page's heading."""

    def trimmed(self, limits: Limits) -> Self:  # noqa: ARG002 - for parts that are short
        """The part with its long lists cut for a page, which says so in its notes."""
        return self

    def sections(self) -> list[Section]:
        """Its sections of the page, in their order."""
        return []

    def overview(self) -> dict[str, str]:
        """Cells of its columns in an overview of several programs, see `COLUMNS`."""
        return {}
