"""What decides a figure: bounds for its 95 % CI. Pure functions; no number here is a result."""

from collections.abc import Callable

from reap.api import Estimate
from reap_studies.study.records import Side

MARGIN = 1.05
"""What is less is no substantial difference."""
Judged = Callable[[Estimate], Side]


def side(is_for: bool, is_against: bool) -> Side:
    """Where a figure stands of which it is known whether it is for, and whether it is against."""
    return "for" if is_for else "against" if is_against else "inconclusive"


def at_most(bound: float) -> Judged:
    """Judge for a claim where the whole interval is at most `bound`, against it where it is above."""
    return lambda ratio: side(ratio.high <= bound, ratio.low > bound)


def at_least(bound: float) -> Judged:
    """Judge for a claim where the whole interval is above `bound`, against it where it is at most that."""
    return lambda ratio: side(ratio.low > bound, ratio.high <= bound)


def within(low: float, high: float) -> Judged:
    """Judge for a claim where the whole interval is between both, against it where all is outside."""
    return lambda ratio: side(low <= ratio.low and ratio.high <= high, ratio.high < low or ratio.low > high)
