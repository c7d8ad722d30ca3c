"""The interval of a typical value, from the ranks of a sample: Wilcoxon's signed ranks, inverted.

A round in which the machine was taken away from one of two runs has a ratio of two or three. One such round
in fifty doubles Student's interval; ranks do not ask how far it is off. Of normal noise their intervals are
2 % wider, but noise need not be normal: they are exact where a difference is as likely as its opposite.
Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 2014, chapter 3.

Own code of forty lines: SciPy has the test without the interval.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST = 1000
"""Values, of which all half a million pairs are sorted."""
_EXACT = 60
"""From more on the normal approximation is right to a thousandth."""


def interval(values: Sequence[float], reach: float) -> tuple[float, float, float] | None:
    """Lower end, middle, and upper end: the middle is the median of the means of all pairs of values.

    The truth is outside as likely as a normal variable is beyond `reach` standard deviations. None where so
    few values cannot be as sure, or where there are more than MOST.
    """
    count = len(values)
    left_out = _left_out(count, reach) if 0 < count <= MOST else None
    if left_out is None:
        return None
    sample = np.asarray(values, dtype=float)
    one, other = np.triu_indices(count)
    means = np.sort((sample[one] + sample[other]) / 2)
    return float(means[left_out]), float(np.median(means)), float(means[-1 - left_out])


@functools.cache
def _left_out(count: int, reach: float) -> int | None:
    """Number of means of pairs that are left out at either end."""
    one_sided = math.erfc(reach / math.sqrt(2)) / 2
    if count <= _EXACT:
        # Sums so low are less likely than that, and with one more they are not.
        found = int(np.searchsorted(sums(count), one_sided * (1 + 1e-9), side="right")) - 1
    else:
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        found = math.floor(count * (count + 1) / 4 - reach * deviation - 0.5)
    return found if found >= 0 else None


def sums(count: int) -> NDArray[np.float64]:
    """Probabilities that the ranks of the positive ones add up to at most 0, 1, 2, ..., if the truth is 0."""
    of = np.zeros(count * (count + 1) // 2 + 1)
    of[0] = 1
    for rank in range(1, count + 1):
        with_it = np.zeros_like(of)
        with_it[rank:] = of[:-rank]
        of = (of + with_it) / 2
    return np.cumsum(of)
