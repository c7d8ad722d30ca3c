"""Bounds for tests whose outcome depends on chance: correct code exceeds one less than once in RARE times.

A test file has a few such checks, and together they must fail by chance less than once in a million runs.
"""

import math
import statistics
from collections.abc import Sequence

from scipy.special import bdtr, stdtrit

RARE = 1e-7
ERRORS = 6.0
"""How many known standard errors a nearly normal figure may be off. RARE is 5.3 of them; the rest is for
tails that are not quite normal."""


def of_sum(variance: float, largest: float) -> float:
    """How far a sum of independent terms may be from its expectation (Bernstein's inequality).

    `variance` is that of the sum, `largest` the most by which a term exceeds its expectation. It holds
    whatever the terms are distributed like, so for a few heavy ones, too.
    """
    log = math.log(2 / RARE)
    return largest * log / 3 + math.sqrt((largest * log / 3) ** 2 + 2 * variance * log)


def of_mean(values: Sequence[float]) -> float:
    """How far the mean of independent values, each nearly normal, may be from their expectation.

    For sums of many terms of which none is heavy. By Student's t: only the values' own spread is known.
    """
    error = statistics.stdev(values) / math.sqrt(len(values))
    return float(stdtrit(len(values) - 1, 1 - RARE / 2)) * error


def fewest(trials: int, share: float = 0.95) -> int:
    """How many of so many intervals hold the truth at least, if each does with probability `share`."""
    return next(held for held in range(trials + 1) if bdtr(held, trials, share) > RARE)
