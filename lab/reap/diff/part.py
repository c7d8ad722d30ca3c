"""Part that `reap diff` adds to an answer: a difference."""

from typing import ClassVar, Self

import msgspec

from reap.answer.part import Limits, Part, Section
from reap.base import units
from reap.base.text import printable
from reap.diff.analyse.difference import thinned
from reap.diff.records import ChangedPlace, ChangedResults, Difference
from reap.diff.view import flame_view, results_view, view

_BOXES = 5
"""A page has so many for each stack that it may have: they are shared by the stacks."""


class DifferencePart(Part, frozen=True, kw_only=True):
    """Differences between two recordings."""

    QUESTION: ClassVar[str] = "What does this program allocate more, or less, than before?"

    difference: Difference

    def trimmed(self, limits: Limits) -> Self:
        """Fewer functions, stacks and boxes."""
        held = self.difference
        cuts = [
            f"This page lists the first {limits.sites} of {units.whole(len(found))} {what}; the JSON report "
            "has more."
            for found, what in ((held.functions, "functions"), (held.stacks, "stacks"))
            if len(found) > limits.sites
        ]
        shorter = msgspec.structs.replace(
            held,
            functions=held.functions[: limits.sites],
            stacks=[_shorter(each, limits) for each in held.stacks[: limits.sites]],
            flame=thinned(held.flame, _BOXES * limits.stacks) if held.flame else None,
            limits=[*held.limits, *cuts],
        )
        return msgspec.structs.replace(self, difference=shorter)

    def sections(self) -> list[Section]:
        """The flame graph, drawn by d3-flame-graph, comes last."""
        held = self.difference
        said = [printable(each) for each in held.limits]
        found = [Section("diff/view.html.j2", "difference", view(held), said)]
        if held.flame:
            libraries = ("d3.min.js", "d3-flamegraph.umd.min.js")
            shown = flame_view(held.flame)
            found.append(Section("diff/flame.html.j2", "difference", shown, libraries=libraries))
        return found


class ResultsPart(Part, frozen=True, kw_only=True):
    """Differences between two reports."""

    QUESTION: ClassVar[str] = "What has changed since the report before?"

    changed: ChangedResults

    def sections(self) -> list[Section]:
        """One table for each program."""
        held = self.changed
        return [
            Section(
                "diff/results.html.j2",
                "changed",
                results_view(held),
                [printable(note) for note in held.notes],
            )
        ]


def _shorter(held: ChangedPlace, limits: Limits) -> ChangedPlace:
    left = len(held.stack) - limits.frames
    if left <= 0:
        return held
    return msgspec.structs.replace(held, stack=[*held.stack[: limits.frames], f"... and {left} more"])
