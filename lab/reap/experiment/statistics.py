"""From paired measurements to a ratio, its interval, and what may be said of it.

Runs of one round were made side by side, so that what disturbs the machine disturbs both: the ratio is
taken within the round, and the rounds are the sample. Ratios are averaged as logarithms: doubled and halved
then cancel out.

The interval is a bootstrap over rounds. The percentile bootstrap is too narrow for few rounds; T. Hesterberg
("What Teachers Should Know About the Bootstrap", The American Statistician 69, 2015) widens the percentiles
as Student's t widens the normal, and by sqrt(n / (n - 1)). Below five rounds there are too few resamples to
take percentiles of, and Student's t is used itself.
"""

import math
import statistics
from collections.abc import Sequence

from reap.experiment.metrics import Metric
from reap.experiment.records import Ratio, Verdict
from reap.records import Estimate

LEVEL = 0.95
LEAST_ROUNDS = 2
"""One round has no interval."""

_RESAMPLES = 9999
_BOOTSTRAP_FROM = 5


def compare(
    metric: Metric, baseline: Sequence[float], values: Sequence[float], seed: int, level: float = LEVEL
) -> Ratio:
    """The ratio of `values` to `baseline`, paired by position. Throws ValueError below LEAST_ROUNDS."""
    pairs = paired_ratios(baseline, values, metric.quantum)
    ratio = interval(pairs, seed, level)
    return Ratio(
        metric=metric.name,
        unit=metric.unit,
        baseline=statistics.median(baseline),
        value=statistics.median(values),
        ratio=ratio,
        pairs=pairs,
        verdict=verdict(ratio, more_is_better=metric.more_is_better),
        more_is_better=metric.more_is_better,
    )


def paired_ratios(baseline: Sequence[float], values: Sequence[float], quantum: float) -> list[float]:
    """Value over baseline, round by round.

    Counts may be 0, which has no logarithm. Where a 0 occurs, half a quantum is added to every number, so
    that 0 against 0 is 1 and 3 against 0 is large but finite.
    """
    shift = quantum / 2 if min(*baseline, *values) <= 0 else 0.0
    return [(value + shift) / (base + shift) for base, value in zip(baseline, values, strict=True)]


def interval(pairs: Sequence[float], seed: int, level: float = LEVEL) -> Estimate:
    """The geometric mean of the ratios with its interval, of 95 % if no other level is asked for.

    Throws ValueError below LEAST_ROUNDS.
    """
    if len(pairs) < LEAST_ROUNDS:
        raise ValueError("fewer than two rounds have no interval")
    logs = [math.log(pair) for pair in pairs]
    middle = statistics.fmean(logs)
    if max(logs) - min(logs) < 1e-12:
        low = high = middle
    elif len(logs) < _BOOTSTRAP_FROM:
        low, high = _student(logs, level)
    else:
        low, high = _bootstrap(logs, seed, level)
    # The mean is within its interval but for rounding; let no reader see it outside.
    return Estimate(value=math.exp(middle), low=math.exp(min(low, middle)), high=math.exp(max(high, middle)))


def verdict(ratio: Estimate, *, more_is_better: bool = False) -> Verdict:
    """Less is better, or else more. An interval that holds 1 says nothing."""
    if ratio.high < 1:
        return "worse" if more_is_better else "better"
    if ratio.low > 1:
        return "better" if more_is_better else "worse"
    return "cannot tell"


def expanded_level(rounds: int, level: float = LEVEL) -> float:
    """The confidence level at which the percentile bootstrap of so few rounds covers about `level`."""
    quantile = _student_quantile(level, rounds) * math.sqrt(rounds / (rounds - 1))
    return 1 - math.erfc(quantile / math.sqrt(2))


def _student_quantile(level: float, rounds: int) -> float:
    from scipy.special import stdtrit  # scipy.stats takes a second to load

    return float(stdtrit(rounds - 1, (1 + level) / 2))


def _bootstrap(logs: list[float], seed: int, level: float) -> tuple[float, float]:
    """The percentile bootstrap of the mean, as scipy.stats.bootstrap has it."""
    import numpy as np

    rounds = len(logs)
    chosen = np.random.default_rng(seed).integers(0, rounds, (_RESAMPLES, rounds))
    means = np.asarray(logs)[chosen].mean(axis=-1)
    tail = 50 * (1 - expanded_level(rounds, level))
    low, high = np.percentile(means, (tail, 100 - tail))
    return float(low), float(high)


def _student(logs: list[float], level: float) -> tuple[float, float]:
    middle = statistics.fmean(logs)
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    reach = _student_quantile(level, len(logs)) * error
    # Two rounds may reach so far that the exponential overflows; a million times says as much.
    reach = min(reach, math.log(1e6))
    return middle - reach, middle + reach
