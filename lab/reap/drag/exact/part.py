"""Part that `reap drag` adds to an answer: the drag of a program's objects."""

from typing import ClassVar, Self

import msgspec

from reap.answer.part import Limits, Part, Section
from reap.base import units
from reap.drag.exact.records import DragLevel, DragProfile
from reap.drag.exact.view import view

_DRAWN = 3
"""Processes whose drag is drawn."""


class DragPart(Part, frozen=True, kw_only=True):
    """Cost to a program of not freeing at once."""

    QUESTION: ClassVar[str] = "How much memory does this program hold after its last use?"

    drag: DragProfile

    def trimmed(self, limits: Limits) -> Self:
        """Fewer sites, and of processes after the first the figures alone."""
        return msgspec.structs.replace(self, drag=_drag(self.drag, limits))

    def sections(self) -> list[Section]:
        """One section, which has its notes in it."""
        return [Section("drag/exact/view.html.j2", "drag", view(self.drag))]


def _drag(profile: DragProfile, limits: Limits) -> DragProfile:
    """The first processes with fewer sites; of those after them the figures alone."""
    held, most = len(profile.processes), limits.processes
    cut = [f"This page counts the first {most} of {units.whole(held)} processes; the JSON has them all."]
    return msgspec.structs.replace(
        profile,
        notes=[*profile.notes, *(cut if held > most else [])],
        processes=[
            msgspec.structs.replace(
                process,
                levels=[_level(level, limits if number < _DRAWN else None) for level in process.levels],
            )
            for number, process in enumerate(profile.processes[: limits.processes])
        ],
    )


def _level(level: DragLevel, limits: Limits | None) -> DragLevel:
    early = _level(level.before_free, limits) if level.before_free else None
    if limits is None:
        return msgspec.structs.replace(level, curve=[], sites=[], before_free=early)
    sites = [
        msgspec.structs.replace(site, stack=site.stack[: limits.frames])
        for site in level.sites[: limits.sites]
    ]
    return msgspec.structs.replace(level, sites=sites, before_free=early)
