"""Parts that `reap show` adds to an answer: profile, flame graph and source."""

from typing import ClassVar, Self

import msgspec

from reap.answer.part import Limits, Part, Section
from reap.base import units
from reap.base.text import printable
from reap.recording.records import Point, Profile, Site
from reap.show import words
from reap.show.analyse.flame import thinned
from reap.show.records import Excerpt, Flame
from reap.show.view import flame_view, source_view, view


class ProfilePart(Part, frozen=True, kw_only=True):
    """Allocations of a program, from one recorded run."""

    QUESTION: ClassVar[str] = "What does this program allocate, and where?"

    profile: Profile

    def trimmed(self, limits: Limits) -> Self:
        """Fewer sites and processes, thinner curves."""
        return msgspec.structs.replace(self, profile=_profile(self.profile, limits))

    def sections(self) -> list[Section]:
        """One section."""
        notes = [printable(note) for note in self.profile.notes]
        return [Section("show/view.html.j2", "profile", view(self.profile), notes)]

    def overview(self) -> dict[str, str]:
        """The share of time and the most bytes in use."""
        return words.overview(self.profile)


class FlamePart(Part, frozen=True, kw_only=True):
    """Whole stacks that allocate."""

    flame: Flame

    def trimmed(self, limits: Limits) -> Self:
        """Fewer boxes: the smallest functions become part of their callers."""
        return msgspec.structs.replace(
            self, flame=thinned(self.flame, _BOXES * limits.stacks, _NUMBERS * limits.stacks)
        )

    def sections(self) -> list[Section]:
        """One section, drawn by d3-flame-graph."""
        libraries = ("d3.min.js", "d3-flamegraph.umd.min.js")
        return [Section("show/flame.html.j2", "flame", flame_view(self.flame), libraries=libraries)]


class SourcePart(Part, frozen=True, kw_only=True):
    """Lines of the source that allocate."""

    source: list[Excerpt]
    """The functions with the most bytes whose source was found; those with most first."""

    def trimmed(self, limits: Limits) -> Self:
        """Fewer functions."""
        return msgspec.structs.replace(self, source=self.source[: max(1, limits.sites // 10)])

    def sections(self) -> list[Section]:
        """One section."""
        return [Section("show/source.html.j2", "source", source_view(self.source))]


_BOXES = 5
"""A page has so many for each stack that it may have: they are shared by the stacks."""
_NUMBERS = 75
"""And so many over time."""


def thin(points: list[Point], most: int) -> list[Point]:
    """At most `most` points: the lowest and the highest of each slice, so that no peak is lost."""
    if len(points) <= most:
        return points
    slices = max(1, most // 2)
    kept: list[Point] = []
    for index in range(slices):
        part = points[index * len(points) // slices : (index + 1) * len(points) // slices]
        ends = {id(p): p for p in (min(part, key=_bytes), max(part, key=_bytes))}
        kept += sorted(ends.values(), key=lambda point: point.seconds)
    return kept


def _bytes(point: Point) -> float:
    return point.bytes


def _profile(profile: Profile, limits: Limits) -> Profile:
    cuts = [
        f"This page lists the first {limit} of {units.whole(held)} {what}; the JSON report has them all."
        for held, limit, what in (
            (len(profile.sites), limits.sites, "allocation sites"),
            (len(profile.processes), limits.processes, "processes"),
        )
        if held > limit
    ]
    return msgspec.structs.replace(
        profile,
        sites=[_site(site, limits) for site in profile.sites[: limits.sites]],
        processes=profile.processes[: limits.processes],
        live=thin(profile.live, limits.points),
        resident=thin(profile.resident, limits.points),
        rates=thin(profile.rates, limits.points),
        notes=[*profile.notes, *cuts],
    )


def _site(site: Site, limits: Limits) -> Site:
    left = len(site.stack) - limits.frames
    if left <= 0:
        return site
    return msgspec.structs.replace(
        site,
        stack=[*site.stack[: limits.frames], f"... and {left} more"],
        callers=site.callers[: limits.frames],
    )
