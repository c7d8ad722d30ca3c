"""Input of the search for patterns: the sites of a recording, with their stacks and use of memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reap.base.records import Estimate, exactly
from reap.recording.analyse.frames import Frame
from reap.recording.analyse.usage import Used
from reap.recording.records import Pattern, PatternKind, Profile, Site

FEW_OBJECTS = 10_000
"""Objects that take no time to speak of."""
MUCH = 0.1
"""Share of the program's objects or bytes below which a pattern makes no difference."""


@dataclass(frozen=True)
class Basis:
    """A recording in which patterns are looked for."""

    profile: Profile
    """With all sites, those of few samples included."""
    used: Sequence[Used]
    """By bytes, largest first."""
    floors: Sequence[float]
    """By slice of the time: the fewest bytes that all sites had in use."""
    frames: Callable[[int, int], list[Frame]]
    producer: Callable[[str, int], str]
    """What compiled the code at an address of a module; empty where that is not known."""

    @property
    def exact(self) -> bool:
        """Whether every event was recorded."""
        return self.profile.depth == "full"

    @property
    def about(self) -> str:
        """Word before a figure that may be estimated; empty where figures are exact."""
        return "" if self.exact else "about "

    def counted(self, **figures: float) -> dict[str, Estimate]:
        """Figures that have no interval in triage, and are left out there."""
        return {name: exactly(value) for name, value in figures.items()} if self.exact else {}


def has_line(site: Site) -> bool:
    """Whether the site is a line of source, and not an address."""
    return site.location.rpartition(":")[2].isdigit()


def is_python(site: Site) -> bool:
    """Whether the site is a line of Python, which itself allocates nothing that it could reuse."""
    return not site.module


def of(used: Used, kind: PatternKind, figures: dict[str, Estimate], statement: str, advice: str) -> Pattern:
    """The pattern of a site."""
    site = used.site
    return Pattern(
        kind=kind,
        function=site.function,
        location=site.location,
        via=site.via,
        figures=figures,
        statement=statement,
        advice=advice,
    )


def times(estimate: Estimate, factor: float) -> Estimate:
    """The estimate of a part of what is estimated."""
    return Estimate(value=estimate.value * factor, low=estimate.low * factor, high=estimate.high * factor)
