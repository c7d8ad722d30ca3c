"""Intervals for what a triage recording only samples. Pure arithmetic."""

import math

from reap.base.records import Estimate, exactly

_Z = 1.959963984540054
"""The normal quantile of a 95 % CI."""


def from_variance(value: float, variance: float) -> Estimate:
    """A sum over samples with its variance; exact where the variance is 0."""
    if variance <= 0:
        return exactly(value)
    spread = _Z * math.sqrt(variance)
    return Estimate(value=value, low=max(value - spread, 0.0), high=value + spread)


def at_most(estimate: Estimate, limit: float) -> Estimate:
    """The estimate of something that is known not to exceed `limit`."""
    return Estimate(
        value=min(estimate.value, limit), low=min(estimate.low, limit), high=min(estimate.high, limit)
    )


def proportion(part: float, whole: float) -> Estimate:
    """A share of counted things, with Wilson's interval, which is sound for few things and extreme shares.

    `whole` is the number of independent observations; weights have to be turned into an effective number
    first (`effective`).
    """
    if whole <= 0:
        return Estimate(value=0.0, low=0.0, high=1.0)
    share = min(max(part / whole, 0.0), 1.0)
    z2 = _Z * _Z
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = _Z * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole)) / (1 + z2 / whole)
    return Estimate(
        value=share, low=min(max(middle - half, 0.0), share), high=max(min(middle + half, 1.0), share)
    )


def effective(weight: float, weight_squares: float) -> float:
    """As how many equal observations weighted ones count (Kish)."""
    return weight * weight / weight_squares if weight_squares > 0 else 0.0
