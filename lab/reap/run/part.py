"""What `reap run` adds to an answer: the verdict."""

from typing import ClassVar

from reap.answer.part import Part, Section
from reap.run.records import Diagnosis


class VerdictPart(Part, frozen=True, kw_only=True):
    """What limits a program."""

    QUESTION: ClassVar[str] = "Does memory allocation slow this program down?"

    diagnosis: Diagnosis

    def sections(self) -> list[Section]:
        """One section."""
        return [Section("run/view.html.j2", "diagnosis", self.diagnosis)]

    def overview(self) -> dict[str, str]:
        """The verdict in a word or two."""
        return {"headline": self.diagnosis.headline}
