"""Part that `reap check` adds to an answer: the limits, and what they came to."""

from typing import ClassVar

from reap.answer.part import Part, Section
from reap.base.text import printable
from reap.check.records import Check
from reap.check.view import view


class CheckPart(Part, frozen=True, kw_only=True):
    """Verdict on whether a program is within its budget."""

    QUESTION: ClassVar[str] = "Is this program within its budget?"

    check: Check

    def sections(self) -> list[Section]:
        """One section."""
        said = [printable(note) for note in self.check.notes]
        return [Section("check/view.html.j2", "check", view(self.check), said)]

    def overview(self) -> dict[str, str]:
        """The verdict."""
        return {"headline": view(self.check).headline}
