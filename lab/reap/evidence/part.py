"""Parts that `run` and `wall` add to an answer: their verdict, and the trials that tell causes apart."""

from typing import ClassVar

from reap.answer.part import Part, Section
from reap.base.text import printable
from reap.compare import view as compare_view
from reap.evidence.judge.records import Diagnosis
from reap.experiment.records import Comparison


class VerdictPart(Part, frozen=True, kw_only=True):
    """Verdict on what allocation costs a program, why, and what is to be done."""

    QUESTION: ClassVar[str] = "Does memory allocation slow this program down?"

    diagnosis: Diagnosis

    def sections(self) -> list[Section]:
        """One section."""
        return [Section("evidence/view.html.j2", "diagnosis", self.diagnosis)]

    def overview(self) -> dict[str, str]:
        """The verdict in a word or two."""
        return {"headline": self.diagnosis.headline}


class CausesPart(Part, frozen=True, kw_only=True):
    """The program with one cause taken away at a time, in pairs with the program as it is."""

    QUESTION: ClassVar[str] = "Which cause makes the difference?"

    causes: Comparison

    def sections(self) -> list[Section]:
        """One section."""
        notes = [printable(note) for note in self.causes.notes]
        shown = compare_view.view(self.causes, "One cause taken away at a time")
        return [Section("compare/view.html.j2", "causes", shown, notes)]
