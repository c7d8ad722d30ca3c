"""Ratios and their intervals: known cases, invariances, and whether 95 % is 95 %."""

import math
import random
import statistics as python_statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reap.base.records import Estimate
from reap.experiment import statistics
from reap.experiment.metrics import METRICS

CPU = METRICS[0]
FAULTS = next(metric for metric in METRICS if metric.name == "major_faults")
TIMES = st.floats(min_value=1e-4, max_value=1e3)
SAMPLES = st.integers(min_value=2, max_value=12).flatmap(
    lambda n: st.tuples(st.lists(TIMES, min_size=n, max_size=n), st.lists(TIMES, min_size=n, max_size=n))
)


def compare(baseline, values, metric=CPU):
    return statistics.compare(metric, baseline, values)


@settings(max_examples=60, deadline=None)
@given(SAMPLES)
def test_the_mean_is_geometric_and_every_figure_is_inside_its_interval(samples):
    baseline, values = samples
    ratio = compare(baseline, values).ratio
    mean = statistics.interval([v / b for b, v in zip(baseline, values, strict=True)])
    expected = python_statistics.geometric_mean([v / b for b, v in zip(baseline, values, strict=True)])
    assert mean.value == pytest.approx(expected, rel=1e-9)
    assert len(values) >= 6 or ratio == mean  # of so few, ranks say too little
    for found in (ratio, mean):
        assert 0 < found.low <= found.value <= found.high < math.inf


@settings(max_examples=60, deadline=None)
@given(st.lists(TIMES, min_size=2, max_size=12), st.lists(TIMES, min_size=2, max_size=12))
def test_unpaired_samples_have_the_interval_of_welch(baseline, values):
    from scipy.stats import ttest_ind

    found = statistics.unpaired(baseline, values)
    logs = [[math.log(each) for each in sample] for sample in (values, baseline)]
    assert 0 < found.low <= found.value <= found.high
    if min(python_statistics.stdev(sample) for sample in logs) > 1e-6:
        known = ttest_ind(*logs, equal_var=False).confidence_interval()
        assert math.log(found.low) == pytest.approx(known.low, rel=1e-6, abs=1e-9)
        assert math.log(found.high) == pytest.approx(known.high, rel=1e-6, abs=1e-9)


def test_unpaired_samples_without_noise_are_exact_and_one_run_is_too_few():
    found = statistics.unpaired([2.0, 2.0], [3.0, 3.0, 3.0])
    assert (found.exact, found.value) == (True, pytest.approx(1.5))
    with pytest.raises(ValueError, match="two runs"):
        statistics.unpaired([2.0, 2.0], [3.0])


@settings(max_examples=40, deadline=None)
@given(SAMPLES, st.floats(min_value=0.01, max_value=100))
def test_a_faster_machine_changes_no_ratio(samples, factor):
    baseline, values = samples
    one = compare(baseline, values).ratio
    other = compare([factor * x for x in baseline], [factor * x for x in values]).ratio
    assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high), rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(SAMPLES)
def test_exchanging_the_sides_inverts_the_ratio(samples):
    baseline, values = samples
    one, other = compare(baseline, values).ratio, compare(values, baseline).ratio
    assert one.value * other.value == pytest.approx(1, rel=1e-9)
    assert math.log(one.low) == pytest.approx(-math.log(other.high), rel=1e-6, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(SAMPLES)
def test_the_same_runs_give_the_same_figures(samples):
    assert compare(*samples) == compare(*samples)


@pytest.mark.parametrize(("rounds", "spread"), [(2, 0.1), (3, 0.1), (5, 0.02), (5, 0.3), (8, 0.1), (20, 0.1)])
def test_the_interval_holds_the_truth_about_95_times_in_100(rounds, spread):
    chance = random.Random(rounds)
    truth = 0.8
    trials = 400
    held = 0
    for _ in range(trials):
        baseline = [chance.uniform(1, 2) for _ in range(rounds)]
        values = [truth * base * math.exp(chance.gauss(0, spread)) for base in baseline]
        ratio = compare(baseline, values).ratio
        held += ratio.low <= truth <= ratio.high
    assert 0.91 <= held / trials <= 0.985


def test_the_quotient_of_two_ratios_holds_the_truth():
    """Each was taken to the same baseline, in rounds of its own."""
    chance = random.Random(11)
    held, trials = 0, 400
    for _ in range(trials):
        one, other = (
            statistics.typical([truth * math.exp(chance.gauss(0, 0.05)) for _ in range(8)])
            for truth in (0.4, 0.5)
        )
        found = statistics.quotient(one, other)
        assert found.low <= found.value <= found.high
        held += found.low <= 0.8 <= found.high
    assert 0.91 <= held / trials <= 0.985
    same = Estimate(value=0.5, low=0.5, high=0.5)
    assert statistics.quotient(same, same) == Estimate(value=1.0, low=1.0, high=1.0)


def test_pairing_removes_what_both_share():
    chance = random.Random(7)
    drift = [chance.uniform(1, 10) for _ in range(10)]
    ratio = compare(drift, [0.97 * x * math.exp(chance.gauss(0, 0.002)) for x in drift])
    assert ratio.verdict == "better"
    assert ratio.ratio.high - ratio.ratio.low < 0.01


def test_equal_runs_cannot_be_told_apart():
    ratio = compare([2.0] * 6, [2.0] * 6)
    assert ratio.ratio == Estimate(value=1, low=1, high=1)
    assert ratio.verdict == "inconclusive"


def test_a_constant_difference_is_exact():
    ratio = compare([2.0] * 6, [3.0] * 6)
    assert ratio.ratio.value == ratio.ratio.low == ratio.ratio.high == pytest.approx(1.5)
    assert ratio.verdict == "worse"


def test_counts_of_zero():
    assert compare([0] * 5, [0] * 5, FAULTS).ratio == Estimate(value=1, low=1, high=1)
    more = compare([0] * 5, [3, 4, 3, 4, 3], FAULTS)
    assert more.verdict == "worse"
    assert 6 < more.ratio.value < 10
    assert (more.baseline, more.value) == (0, 3)
    less = compare([3, 0, 4, 3, 3], [0] * 5, FAULTS)
    assert less.ratio.value < 1


def test_one_round_has_no_interval():
    with pytest.raises(ValueError, match="fewer than two rounds"):
        compare([1.0], [2.0])


def test_two_rounds_that_disagree_say_nothing_and_stay_finite():
    ratio = compare([1.0, 1.0], [0.001, 1000.0])
    assert ratio.verdict == "inconclusive"
    assert ratio.ratio.high < math.inf


@pytest.mark.parametrize("rounds", [4, 9])
def test_a_higher_level_has_a_wider_interval(rounds):
    pairs = [0.9 + 0.02 * number for number in range(rounds)]
    usual, higher = statistics.interval(pairs), statistics.interval(pairs, 0.99)
    assert usual == statistics.interval(pairs, statistics.LEVEL)
    assert higher.low < usual.low < usual.value == higher.value < usual.high < higher.high


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.5, 0.9, "better"),
        (1.1, 1.2, "worse"),
        (0.9, 1.1, "inconclusive"),
        (1.0, 1.2, "inconclusive"),
        (0.8, 1.0, "inconclusive"),
    ],
)
def test_verdicts(low, high, verdict):
    assert statistics.verdict(Estimate(value=(low + high) / 2, low=low, high=high)) == verdict


def drawn_starts(start: float, load: float, count: int, each: int) -> list[list[float]]:
    """Ratios of loads of so many starts, with these standard deviations of their logarithms."""
    random_of = random.Random(7)
    middles = [random_of.gauss(0, start) for _ in range(count)]
    return [[math.exp(random_of.gauss(middle, load)) for _ in range(each)] for middle in middles]


@pytest.mark.parametrize(("start", "load"), [(0.02, 0.01), (0.005, 0.02), (0.0, 0.01)])
def test_what_starts_add_to_loads_is_told_apart(start, load):
    found = statistics.spread(drawn_starts(start, load, 400, 4))
    assert found.load == pytest.approx(load, rel=0.1)
    assert found.start == pytest.approx(start, rel=0.15, abs=0.0015)


def test_loads_of_one_start_do_not_narrow_the_interval_as_starts_do():
    """The mean of a start is one value: 20 loads of one start that differs are no 20 values."""
    starts = drawn_starts(0.05, 0.001, 6, 20)
    means = [math.exp(python_statistics.fmean(map(math.log, each))) for each in starts]
    every = [ratio for each in starts for ratio in each]
    wide, narrow = statistics.interval(means), statistics.interval(every)
    assert math.log(wide.high / wide.low) > 2 * math.log(narrow.high / narrow.low)


@pytest.mark.parametrize("starts", [[], [[1.0, 1.1]] * 4, [[1.0]] * 9, [[]] * 9])
def test_too_few_starts_or_loads_say_nothing_of_their_spread(starts):
    assert statistics.spread(starts) is None


def test_the_mean_of_shares_holds_the_truth_as_often_as_it_says():
    generator = random.Random(7)
    samples = [[generator.uniform(0.0, 0.4) for _ in range(12)] for _ in range(2000)]
    means = [statistics.mean(sample) for sample in samples]
    held = sum(each.low <= 0.2 <= each.high for each in means)
    assert 0.93 <= held / len(means) <= 0.97
    with pytest.raises(ValueError, match="fewer than two"):
        statistics.mean([0.1])


def test_the_spread_of_loads_is_that_of_a_ratio_of_two_identical_servers() -> None:
    """Places of loads and servers that differ have no part in it."""
    draw = random.Random(7)
    starts = [
        [math.exp(server + place / 10 + draw.gauss(0, 0.02)) for place in range(200)] for server in range(5)
    ]
    assert statistics.spread_of_loads(starts) == pytest.approx(0.02 * math.sqrt(2), rel=0.1)


def test_too_few_loads_have_no_spread() -> None:
    assert statistics.spread_of_loads([]) is None
    assert statistics.spread_of_loads([[1.0, 2.0]]) is None
    assert statistics.spread_of_loads([[1.0], [2.0]]) is None
    assert statistics.spread_of_loads([[1.0, 0.0], [2.0, 1.0]]) is None


def test_noise_does_not_warm_servers_up() -> None:
    """Of servers that run one after another short loads stray by half: 40 loads were thrown away for that."""
    noise = random.Random(11)
    found = [
        statistics.cold([[math.exp(noise.gauss(0, 0.3)) for _ in range(40)] for _ in range(3)])
        for _ in range(200)
    ]
    assert sum(found) <= 2 * len(found)
    assert found.count(0) > 0.8 * len(found)


@pytest.mark.parametrize(
    ("starts", "cold"),
    [
        ([[0.47, 0.38, 0.26, 0.25], [0.45, 0.35, 0.25, 0.24]], 2),
        ([[0.30, 0.47, 0.25], [0.29, 0.45, 0.25]], 2),
        ([[0.26, 0.24, 0.25], [0.25, 0.27, 0.24]], 0),
        ([[0.26], [0.25]], 0),
        ([], 0),
    ],
)
def test_loads_that_still_warm_servers_up(starts: list[list[float]], cold: int) -> None:
    assert statistics.cold(starts) == cold
