"""What `reap wall` adds to an answer: the facts, their verdict, and what came of the remedies."""

from typing import ClassVar, Self

import msgspec

from reap.answer.part import Limits, Part, Section
from reap.base import units
from reap.base.text import printable, shortened
from reap.compare import view as compare_view
from reap.compare import words as compared
from reap.evidence.judge.records import WallVerdict
from reap.evidence.records import Wall
from reap.experiment.records import Comparison
from reap.wall.view import view

_DEEP = 48
"""Frames of a stack that are drawn."""


class WallPart(Part, frozen=True, kw_only=True):
    """Where a program's time goes, and whether its allocator is the cause."""

    QUESTION: ClassVar[str] = "Where does the time go, and is it the allocator?"

    wall: Wall
    wall_verdict: WallVerdict | None = None
    """The verdict on `wall`; if its remedies were tried, `comparison` has their ratios."""
    comparison: Comparison | None = None
    stacks: list[str] = []
    """Where CPU time went, folded as `evidence.analyse.facts.folded` has them: the flame graph."""

    def trimmed(self, limits: Limits) -> Self:
        """Fewer and shorter stacks."""
        stacks = self.stacks
        if len(stacks) > limits.stacks:
            stacks = _heaviest(stacks, limits.stacks)
        if any(len(line) > limits.text for line in stacks):
            stacks = [_narrow(line, limits.text) for line in stacks]
        return self if stacks is self.stacks else msgspec.structs.replace(self, stacks=stacks)

    def sections(self) -> list[Section]:
        """The facts with the verdict, and the trial."""
        facts = view(self.wall, self.wall_verdict, self.stacks)
        shown = [Section("wall/view.html.j2", "wall", facts, facts.notes)]
        if self.comparison is not None:
            tried = compare_view.view(self.comparison, "The remedies against the program as it is")
            notes = [printable(note) for note in self.comparison.notes]
            shown.append(Section("compare/view.html.j2", "comparison", tried, notes))
        return shown

    def overview(self) -> dict[str, str]:
        """What the best of the remedies takes."""
        return compared.overview(self.comparison) if self.comparison else {}


def _heaviest(stacks: list[str], most: int) -> list[str]:
    """Those with the most samples; the samples of the others are one frame, so that parts stay parts."""
    counted = [(int(count), line) for line in stacks if (count := line.rpartition(" ")[2]).isdigit()]
    counted.sort(key=lambda each: -each[0])
    left = sum(count for count, _ in counted[most:])
    others = f"({units.whole(len(counted) - most)} other stacks) {left}"
    return [*sorted(line for _, line in counted[:most]), others]


def _narrow(line: str, most: int) -> str:
    """A stack in `most` characters, its count whole: by shorter names first, then without its innermost."""
    frames, _, count = line.rpartition(" ")
    longest, room = max(12, most // _DEEP), most - len(count) - 1
    kept: list[str] = []
    for frame in frames.split(";"):
        kept.append(shortened(frame, longest))  # both ends stay, so that methods of a class differ
        room -= len(kept[-1]) + 1
        if room < 0:
            kept.pop()
            break
    return f"{';'.join(kept)} {count}"
