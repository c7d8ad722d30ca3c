"""From paired measurements to a ratio, its interval, and what may be said of it.

Runs of one round were made side by side, so that what disturbs the machine disturbs both: the ratio is
taken within the round, and the rounds are the sample. Ratios are compared as logarithms: doubled and halved
then cancel out.

Of rounds the ratio is that of a typical one, with an interval by ranks (`reap.base.ranks`), which a
disturbed round hardly moves; of few rounds, and where a mean is meant, the geometric mean with Student's t.
Both are right at any fixed number of rounds; where the number follows from the results they are widened
(`reap.experiment.sequential`). A percentile bootstrap, widened for few rounds, left the truth out too often:
see lab/bench/intervals.py.
"""

import math
import statistics
from collections.abc import Sequence

from reap.base import ranks
from reap.base.distributions import student_quantile
from reap.base.records import Estimate
from reap.experiment import sequential
from reap.experiment.metrics import Metric
from reap.experiment.records import Ratio, Spread, Verdict

LEVEL = 0.95
LEAST_ROUNDS = 2
"""One round has no interval."""
_COLD = 1.25
"""Times a usual load's CPU time: more is not noise of several servers at once (up to 1.2 was measured) ..."""
_STRAYS = 4
"""... nor is what lies above it by more than so many standard deviations of usual loads."""
_STARTS = 5
"""Fewer say nothing of what differs between them."""


def compare(
    metric: Metric,
    baseline: Sequence[float],
    values: Sequence[float],
    level: float = LEVEL,
    *,
    widening: float = 1.0,
    worth: float = 0.0,
) -> Ratio:
    """The ratio of `values` to `baseline`, paired by position. Throws ValueError below LEAST_ROUNDS.

    `widening` is that of `typical`, `worth` that of `verdict`.
    """
    pairs = paired_ratios(baseline, values, metric.quantum)
    ratio = typical(pairs, level, widening=widening)
    return Ratio(
        metric=metric.name,
        unit=metric.unit,
        baseline=statistics.median(baseline),
        value=statistics.median(values),
        ratio=ratio,
        pairs=pairs,
        verdict=verdict(ratio, worth=worth, more_is_better=metric.more_is_better),
        more_is_better=metric.more_is_better,
    )


def paired_ratios(baseline: Sequence[float], values: Sequence[float], quantum: float) -> list[float]:
    """Value over baseline, round by round.

    Counts may be 0, which has no logarithm. Where a 0 occurs, half a quantum is added to every number, so
    that 0 against 0 is 1 and 3 against 0 is large but finite.
    """
    shift = quantum / 2 if min(*baseline, *values) <= 0 else 0.0
    return [(value + shift) / (base + shift) for base, value in zip(baseline, values, strict=True)]


def typical(pairs: Sequence[float], level: float = LEVEL, *, widening: float = 1.0) -> Estimate:
    """The ratio of a typical round with its interval, of 95 % if no other level is asked for.

    The median of the geometric means of all pairs of rounds (Hodges and Lehmann, 1963). Of so few rounds that
    ranks cannot say as much, or of thousands, what `interval` says. `widening` is `sequential.WIDENING` where
    the number of rounds follows from the results. Throws ValueError below LEAST_ROUNDS.
    """
    found = ranks.interval([math.log(pair) for pair in pairs], widening * _normal_quantile(level))
    if found is None:
        return interval(pairs, level, widening=widening)
    low, middle, high = (math.exp(each) for each in found)
    return Estimate(value=middle, low=low, high=high)


def interval(pairs: Sequence[float], level: float = LEVEL, *, widening: float = 1.0) -> Estimate:
    """The geometric mean of the ratios with its interval, of 95 % if no other level is asked for.

    `widening` is `sequential.WIDENING` where the number of ratios follows from the results.
    Throws ValueError below LEAST_ROUNDS.
    """
    if len(pairs) < LEAST_ROUNDS:
        raise ValueError("fewer than two rounds have no interval")
    logs = [math.log(pair) for pair in pairs]
    middle = statistics.fmean(logs)
    if max(logs) - min(logs) < 1e-12:
        low = high = middle
    else:
        low, high = _student(logs, level, widening)
    # The mean is within its interval but for rounding; let no reader see it outside.
    return Estimate(value=math.exp(middle), low=math.exp(min(low, middle)), high=math.exp(max(high, middle)))


def mean(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """The arithmetic mean with its interval: of shares, which may be 0 and are no ratios.

    Throws ValueError below LEAST_ROUNDS.
    """
    if len(values) < LEAST_ROUNDS:
        raise ValueError("fewer than two values have no interval")
    low, high = _student(list(values), level, 1.0)
    return Estimate(value=statistics.fmean(values), low=low, high=high)


def unpaired(baseline: Sequence[float], values: Sequence[float]) -> Estimate:
    """The ratio of two samples whose runs have nothing to do with each other, with its 95 % CI.

    Welch's t of the logarithms. Throws ValueError below LEAST_ROUNDS of either.
    """
    if min(len(baseline), len(values)) < LEAST_ROUNDS:
        raise ValueError("fewer than two runs have no interval")
    samples = [[math.log(each) for each in sample] for sample in (baseline, values)]
    middle = statistics.fmean(samples[1]) - statistics.fmean(samples[0])
    parts = [statistics.variance(sample) / len(sample) for sample in samples]
    if sum(parts) == 0:
        return Estimate(value=math.exp(middle), low=math.exp(middle), high=math.exp(middle))
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(sample) - 1) for part, sample in zip(parts, samples, strict=True)
    )
    reach = student_quantile(freedom, (1 + LEVEL) / 2) * math.sqrt(sum(parts))
    return Estimate(value=math.exp(middle), low=math.exp(middle - reach), high=math.exp(middle + reach))


def quotient(value: Estimate, base: Estimate) -> Estimate:
    """The ratio of two ratios to one baseline that were measured in rounds of their own: errors add up.

    Where both runs of the baseline are the same, it is wider than need be. All are above 0.
    """
    middle = math.log(value.value / base.value)
    down = math.hypot(math.log(value.value / value.low), math.log(base.high / base.value))
    up = math.hypot(math.log(value.high / value.value), math.log(base.value / base.low))
    return Estimate(value=math.exp(middle), low=math.exp(middle - down), high=math.exp(middle + up))


def verdict(ratio: Estimate, *, worth: float = 0.0, more_is_better: bool = False) -> Verdict:
    """Less is better, or else more; `equivalent` within `worth`, of which a worth of 0 knows nothing."""
    standing = sequential.standing(ratio, worth)
    if standing in ("equivalent", "inconclusive"):
        return standing
    return "better" if (standing == "higher") == more_is_better else "worse"


def spread(starts: Sequence[Sequence[float]]) -> Spread | None:
    """Estimates how far ratios vary within starts and between them; None where that is not known.

    A one-way analysis of variance of the logarithms: loads of one start share its address-space layout, so
    an interval is made from the starts, and this says what more loads of each would add. Starts with other
    numbers of loads than most are left out.
    """
    usual = statistics.mode(map(len, starts)) if starts else 0
    logs = [[math.log(ratio) for ratio in start] for start in starts if len(start) == usual]
    if len(logs) < _STARTS or usual < LEAST_ROUNDS:
        return None
    within = statistics.fmean(statistics.variance(start) for start in logs)
    between = statistics.variance([statistics.fmean(start) for start in logs]) - within / usual
    return Spread(load=math.sqrt(within), start=math.sqrt(max(0.0, between)))


def spread_of_loads(starts: Sequence[Sequence[float]]) -> float | None:
    """Standard deviation of the logarithm of the ratio of two servers' loads, by one start of each.

    Load by load the servers are paired: it is of what neither a load's place nor its server explains.
    None where there are too few, or not as many of each.
    """
    count = min(map(len, starts), default=0)
    if len(starts) < LEAST_ROUNDS or count < LEAST_ROUNDS or any(min(each) <= 0 for each in starts):
        return None
    logs = [[math.log(value) for value in start[:count]] for start in starts]
    places = [statistics.fmean(start[place] for start in logs) for place in range(count)]
    own = [[value - place for value, place in zip(start, places, strict=True)] for start in logs]
    squares = sum(statistics.variance(start) * (count - 1) for start in own)
    return math.sqrt(2 * squares / ((len(starts) - 1) * (count - 1)))


def cold(starts: Sequence[Sequence[float]]) -> int:
    """Number of first loads in which servers cost much more than later: compilers, caches that fill.

    `starts` has the CPU times of a start of each of several servers, load by load. The later half of the
    loads says what is usual, and how far usual loads stray.
    """
    count = min(map(len, starts), default=0)
    means = [statistics.fmean(start[place] for start in starts) for place in range(count)]
    early, late = means[: (count + 1) // 2], means[(count + 1) // 2 :]
    if not late:
        return 0
    usual, strays = statistics.median(late), statistics.pstdev(late)
    warm = max(_COLD * usual, usual + _STRAYS * strays)
    return max((place + 1 for place, mean in enumerate(early) if mean > warm), default=0)


def _normal_quantile(level: float) -> float:
    return statistics.NormalDist().inv_cdf((1 + level) / 2)


def _student(values: list[float], level: float, widening: float) -> tuple[float, float]:
    middle = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    reach = widening * student_quantile(len(values) - 1, (1 + level) / 2) * error
    # Two rounds may reach so far that the exponential overflows; a million times says as much.
    reach = min(reach, math.log(1e6))
    return middle - reach, middle + reach
