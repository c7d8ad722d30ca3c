"""Part of an answer by `reap compare`: a comparison."""

from typing import ClassVar

from reap.answer.part import Part, Section
from reap.base.text import printable
from reap.compare import words
from reap.compare.view import view
from reap.experiment.records import Comparison


class ComparisonPart(Part, frozen=True, kw_only=True):
    """Allocators, or commands, compared on one program."""

    QUESTION: ClassVar[str] = "Which is faster, and by how much?"

    comparison: Comparison

    def sections(self) -> list[Section]:
        """One section."""
        notes = [printable(note) for note in self.comparison.notes]
        return [Section("compare/view.html.j2", "comparison", view(self.comparison), notes)]

    def overview(self) -> dict[str, str]:
        """CPU time and peak memory of the best allocator."""
        return words.overview(self.comparison)
