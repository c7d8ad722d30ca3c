"""Part that `reap tune` adds to an answer: a search through an allocator's settings."""

from typing import ClassVar

from reap.answer.part import Part, Section
from reap.tune.records import Tuned
from reap.tune.view import view


class TunePart(Part, frozen=True, kw_only=True):
    """An allocator's settings, searched on one program."""

    QUESTION: ClassVar[str] = "Which settings of the allocator suit this program?"

    tuned: Tuned

    def sections(self) -> list[Section]:
        """One section."""
        shown = view(self.tuned)
        return [Section("tune/view.html.j2", "tuned", shown, shown.notes)]
