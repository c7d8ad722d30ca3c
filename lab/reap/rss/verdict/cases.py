"""Verdict on one part of memory that is large, and what could be done about it."""

from dataclasses import dataclass

from reap.allocators.remedies import table
from reap.base import units
from reap.base.records import Record
from reap.rss.records import Residence

TRIM = table.named("malloc_trim once").how
"""Advice to return glibc's free pages by a call."""

LEAST = 4 << 20
"""Bytes below which no remedy is worth the trouble."""


class Remedy(Record):
    """Change that could make a part of memory smaller."""

    what: str
    environment: dict[str, str] = {}
    allocator: str = ""
    """The name of an allocator to run it under; empty for the one that it has."""


Answer = tuple[list[str], list[Remedy]]
"""Sentences, and remedies."""


@dataclass(frozen=True)
class Case:
    """One part that is large."""

    residence: Residence
    part: int

    @property
    def of(self) -> str:
        """Its size and that of the whole, as a sentence begins."""
        of = self.residence.processes
        whole = f"PSS of {of} processes" if of > 1 else "resident"
        return f"{units.size(self.part)} of {units.size(self.residence.settled.resident)} {whole}"

    def remedy(self, name: str, what: str = "") -> Remedy:
        """The remedy of the table of that name, in other words if some are given."""
        known = table.named(name)
        parts = self.residence.settled.parts
        values = {
            variable: known.sized(value, lambda part: int(getattr(parts, part)))
            for variable, value in known.environment.items()
        }
        environment = {variable: value for variable, value in values.items() if value is not None}
        return Remedy(what=what or known.how or name, environment=environment, allocator=known.allocator)

    def answer(self, *sentences: str, remedies: list[Remedy] | None = None) -> Answer:
        """The sentences, with the remedies if there are any."""
        return list(sentences), remedies or []
