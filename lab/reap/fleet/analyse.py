"""Two versions beside each other: what grew. Pure functions.

A version's mean is over units, hosts or recordings; in a unit where a site does not occur its rate is 0. The
difference of two means has the confidence interval of Welch's t-test, and of the many sites that are tested
those that differ are selected so that 5 % of them are expected to be false (Benjamini and Hochberg 1995).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from reap.base import distributions
from reap.base.records import Estimate, exactly
from reap.fleet.records import Change, ChangedSite, Verdict

LEAST_HOSTS = 5
"""Below so many in a version, recordings are the units: of too few hosts nothing could be said."""
NEGLIGIBLE = 0.01
"""Of a version's total: a change within it is none."""
_FALSE = 0.05


@dataclass(frozen=True)
class Side:
    """A version: how many units, the sum of their rates, and of the squares of these."""

    units: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        """Of the units."""
        return self.total / self.units

    @property
    def error(self) -> float:
        """The square of the mean's standard error; 0 of a single unit."""
        if self.units < 2:
            return 0.0
        variance = (self.squares - self.units * self.mean**2) / (self.units - 1)
        return max(variance, 0.0) / self.units


@dataclass
class Rates:
    """A site: in each version where it occurs the sum of rates, that of squares, and its line."""

    function: str
    module: str
    sides: dict[str, tuple[float, float, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Tested:
    before: float
    after: float
    change: Estimate
    p: float


def compared(
    before: Side, after: Side, sites: Sequence[Rates], versions: tuple[str, str]
) -> tuple[Change, list[ChangedSite]]:
    """The totals, and each site, largest change first."""
    whole = _tested(before, after)
    bound = NEGLIGIBLE * before.mean
    found = [
        _tested(
            *(_side_of(site, version, side) for version, side in zip(versions, (before, after), strict=True))
        )
        for site in sites
    ]
    adjusted = distributions.false_discoveries([each.p for each in found])
    changed = [
        ChangedSite(
            function=site.function,
            module=site.module,
            location=next(site.sides[version][2] for version in reversed(versions) if version in site.sides),
            change=_judged(tested, p, bound),
        )
        for site, tested, p in zip(sites, found, adjusted, strict=True)
    ]
    changed.sort(key=lambda site: (-abs(site.change.change.value), site.function, site.module))
    return _judged(whole, whole.p, bound), changed


def _side_of(site: Rates, version: str, side: Side) -> Side:
    total, squares, _ = site.sides.get(version, (0.0, 0.0, ""))
    return Side(units=side.units, total=total, squares=squares)


def _tested(before: Side, after: Side) -> _Tested:
    difference = after.mean - before.mean
    errors = before.error + after.error
    if min(before.units, after.units) < 2:
        return _Tested(before.mean, after.mean, exactly(difference), 1.0)
    if errors == 0:
        return _Tested(before.mean, after.mean, exactly(difference), 0.0 if difference else 1.0)
    freedom = errors**2 / (before.error**2 / (before.units - 1) + after.error**2 / (after.units - 1))
    half = distributions.student_quantile(freedom, 0.975) * math.sqrt(errors)
    p = 2 * distributions.student_tail(freedom, abs(difference) / math.sqrt(errors))
    change = Estimate(value=difference, low=difference - half, high=difference + half)
    return _Tested(before.mean, after.mean, change, min(p, 1.0))


def _judged(tested: _Tested, p: float, bound: float) -> Change:
    verdict: Verdict = "inconclusive"
    known = p < 1 or not tested.change.exact or tested.change.value == 0
    if known and max(abs(tested.change.low), abs(tested.change.high)) <= bound:
        verdict = "the same"
    elif p <= _FALSE:
        verdict = "grew" if tested.change.value > 0 else "shrank"
    return Change(before=tested.before, after=tested.after, change=tested.change, verdict=verdict)
