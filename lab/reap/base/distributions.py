"""Student's and Fisher's distributions, by the incomplete beta function; right to seven digits.

Own code of sixty lines: SciPy has them, and is half of an installation. The tests hold them against SciPy's.
"""

import functools
import math
import statistics
from collections.abc import Sequence

_NEAR_NORMAL = 1e4
"""Degrees of freedom from which a series in their inverse is exact to the last digit."""
_NORMAL = 1e7
"""Degrees of freedom from which Student's distribution is the normal one to seven digits."""
_STEPS = 10_000
_EXACT = 1e-15


@functools.lru_cache(maxsize=1024)
def student_quantile(freedom: float, level: float) -> float:
    """Value that a variable with Student's distribution is below with the probability `level`.

    `freedom`: at least 0.1, not only whole numbers; infinity gives the normal distribution. `level`: 1e-9 to
    1 - 1e-9.
    """
    if level < 0.5:
        return -student_quantile(freedom, 1 - level)
    z = statistics.NormalDist().inv_cdf(level)
    if freedom >= _NEAR_NORMAL:
        return _by_series(z, freedom)
    # From the left Newton's steps stay on the left: beyond 0 the distribution function is concave.
    value = z
    for _ in range(_STEPS):
        step = (level - 1 + student_tail(freedom, value)) / _density(freedom, value)
        value += step
        if step <= _EXACT * value:
            break
    return value


def student_tail(freedom: float, value: float) -> float:
    """The probability that a variable with Student's distribution is above `value`; nan of what is none."""
    if value < 0:
        return 1 - student_tail(freedom, -value)
    if freedom >= _NORMAL:
        return math.erfc(value / math.sqrt(2)) / 2
    return _beta(freedom / 2, 0.5, freedom, value * value) / 2


def fisher_tail(above: float, below: float, ratio: float) -> float:
    """The probability that a ratio of two variances is above `ratio`, with these degrees of freedom."""
    return _beta(below / 2, above / 2, below, above * ratio) if ratio > 0 else 1.0


def false_discoveries(p: Sequence[float]) -> list[float]:
    """For each p the expected part of false discoveries among those that are as certain, at most.

    Benjamini and Hochberg, *Controlling the false discovery rate*, 1995.
    """
    adjusted, least = [1.0] * len(p), 1.0
    order = sorted(range(len(p)), key=lambda number: p[number])
    for rank in range(len(p), 0, -1):
        number = order[rank - 1]
        least = min(least, p[number] * len(p) / rank)
        adjusted[number] = least
    return adjusted


def _by_series(z: float, freedom: float) -> float:
    """Student's quantile from the normal one. Abramowitz and Stegun, 26.7.5."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + (first + (second + third / freedom) / freedom) / freedom


def _density(freedom: float, value: float) -> float:
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(log - (freedom + 1) / 2 * math.log1p(value * value / freedom))


def _beta(a: float, b: float, part: float, rest: float) -> float:
    """The regularized incomplete beta function of `part` in `part + rest`, both of which may be small."""
    if not rest:
        return 1.0
    x, other = part / (part + rest), rest / (part + rest)
    if math.isnan(x):
        return math.nan if math.isnan(part + rest) else 0.0
    if not other:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _fraction(b, a, other, x)
    return _fraction(a, b, x, other)


def _fraction(a: float, b: float, x: float, other: float) -> float:
    """Incomplete beta function of an x not too near to 1: a continued fraction (DLMF 8.17.22) by Lentz."""
    if not x:
        return 0.0
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(other)
    value, numerator, denominator = 1.0, 1.0, 0.0
    for step in range(_STEPS):
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / (1 + term * denominator)
        numerator = 1 + term / numerator
        value *= numerator * denominator
        if step and abs(numerator * denominator - 1) < _EXACT:
            break
    return math.exp(log) / a * (value - 1)
