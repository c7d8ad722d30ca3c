"""Part that `reap wall` adds to an answer: where the time goes."""

from typing import ClassVar, Self

import msgspec

from reap.answer import labels
from reap.answer.part import Limits, Part, Section
from reap.base import units
from reap.base.text import shortened
from reap.evidence.records import Wall
from reap.wall.view import view

_DEEP = 48
"""Frames of a stack that are drawn."""


class WallPart(Part, frozen=True, kw_only=True):
    """Breakdown of a program's time."""

    QUESTION: ClassVar[str] = "Where does the time go?"

    wall: Wall
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

    def overview(self) -> dict[str, str]:
        """The share of time in the allocator."""
        return {"share": labels.share_figure(self.wall.share)} if self.wall.share else {}

    def sections(self) -> list[Section]:
        """One section, and one for the flame graph, where there are stacks."""
        facts = view(self.wall)
        found = [Section("wall/view.html.j2", "wall", facts, facts.notes)]
        if self.stacks:
            libraries = ("d3.min.js", "d3-flamegraph.umd.min.js")
            found.append(Section("wall/flame.html.j2", "stacks", facts, libraries=libraries))
        return found


def _heaviest(stacks: list[str], most: int) -> list[str]:
    """Stacks with the most samples; the samples of the others are one frame, so that parts stay parts."""
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
