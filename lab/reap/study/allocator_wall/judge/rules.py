"""How a claim of the allocator wall is judged: what its rules are made of. Pure functions."""

from collections.abc import Iterable
from dataclasses import dataclass

from reap.base.records import Estimate
from reap.study.allocator_wall.analyse import Figures
from reap.study.allocator_wall.records import Wall
from reap.study.judging import Extent, Judged, conclusion, side
from reap.study.records import Conclusion, Finding, Standing


@dataclass(frozen=True)
class Judge:
    """What was measured, and over which allocators beside glibc."""

    wall: Wall
    figures: Figures
    others: tuple[str, ...]

    @property
    def cores(self) -> int:
        """Processors."""
        return self.wall.cores


def within(low: float, high: float) -> Judged:
    """For it where the whole interval is between both, against it where all of it is outside."""
    return lambda ratio: side(low <= ratio.low and ratio.high <= high, ratio.high < low or ratio.low > high)


def found(arm: str, figure: str, ratio: Estimate | None, judged: Judged) -> list[Finding]:
    """What a figure says; nothing where it was not measured."""
    if ratio is None:
        return []
    return [Finding(workload=arm, figure=figure, ratio=ratio, side=judged(ratio))]


def times(figure: Estimate, factor: float) -> Estimate:
    """The figure and its interval, so many times."""
    return Estimate(value=figure.value * factor, low=figure.low * factor, high=figure.high * factor)


def claim(
    about: str,
    said: str,
    published: str,
    rule: str,
    findings: Iterable[Iterable[Finding]],
    refuted: Standing = "does not hold",
    extent: Extent = Extent.NEARLY_ALL,
) -> Conclusion:
    """A claim of the text as it stands."""
    every = [each for some in findings for each in some]
    return conclusion(about, said, published, rule, every, refuted, extent)
