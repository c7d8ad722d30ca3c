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


def from_samples(value: float, variance: float, scale: float) -> Estimate:
    """A sum over samples of which there may be few, or none. `scale` is what one sample stands for at most.

    The interval of Fay and Feuer (1997) for weighted counts, as Wilson and Hilferty approximate it: with
    no sample at all from 0 to 3.7 times the scale, with many that of `from_variance`. `variance` may be an
    upper bound.
    """
    low = high = value
    if variance > 0:
        count = value * value / variance
        root = 1 - 1 / (9 * count) - _Z / (3 * math.sqrt(count)) if value > 0 else 0.0
        low = min(value * max(root, 0.0) ** 3, value)
    if variance > 0 or scale > 0:
        spread = math.sqrt(variance + scale * scale)
        count = ((value + scale) / spread) ** 2
        root = 1 - 1 / (9 * count) + _Z / (3 * math.sqrt(count)) if count > 0 else 0.0
        # The approximation is of no use for the counts below 1 that a bound of the variance gives.
        high = max((value + scale) * max(root, 0.0) ** 3, value + scale + _Z * spread)
    return Estimate(value=value, low=low, high=high)


def difference(before: Estimate, after: Estimate) -> Estimate:
    """Difference of two independent estimates, `after` less `before`; exact where both are.

    The interval by the method of variance estimates recovery (Zou and Donner, 2008), which keeps the skew.
    """
    value = after.value - before.value
    below = math.hypot(after.value - after.low, before.high - before.value)
    above = math.hypot(after.high - after.value, before.value - before.low)
    return Estimate(value=value, low=value - below, high=value + above)


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
