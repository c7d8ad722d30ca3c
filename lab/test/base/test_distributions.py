"""Student's and Fisher's distributions against SciPy's, over all that a measurement can ask for."""

import math
import random

import pytest
from scipy import special, stats

from reap.base.distributions import false_discoveries, fisher_tail, student_quantile, student_tail

CHANCE = random.Random(20261129)


def test_quantiles_are_those_of_scipy():
    for _ in range(500):
        freedom = 10 ** CHANCE.uniform(-0.3, 7)
        level = CHANCE.choice([0.95, 0.975, 0.995, CHANCE.uniform(0.01, 0.99)])
        expected = special.stdtrit(freedom, level)
        assert student_quantile(freedom, level) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_tails_are_those_of_scipy():
    for _ in range(500):
        freedom = 10 ** CHANCE.uniform(-0.3, 6.9)
        value = CHANCE.choice([-1, 1]) * CHANCE.choice([CHANCE.uniform(0, 6), 10 ** CHANCE.uniform(-3, 2)])
        expected = special.stdtr(freedom, -value)
        assert student_tail(freedom, value) == pytest.approx(expected, rel=1e-7, abs=1e-200)


def test_variance_ratios_are_those_of_scipy():
    for _ in range(500):
        above, below = CHANCE.randint(1, 100), CHANCE.randint(1, 2000)
        ratio = 10 ** CHANCE.uniform(-2, 2)
        expected = special.fdtrc(above, below, ratio)
        assert fisher_tail(above, below, ratio) == pytest.approx(expected, rel=1e-7, abs=1e-200)


def test_false_discoveries_are_those_of_scipy():
    for count in (1, 2, 50):
        p = [CHANCE.random() ** 3 for _ in range(count)]
        assert false_discoveries(p) == pytest.approx(stats.false_discovery_control(p))
    assert false_discoveries([]) == []


def test_ends_of_the_range_are_no_errors():
    assert student_quantile(math.inf, 0.975) == pytest.approx(1.959963984540054)
    assert student_quantile(1e300, 0.975) == pytest.approx(1.959963984540054)
    assert student_quantile(0.5, 0.975) == pytest.approx(special.stdtrit(0.5, 0.975))
    assert student_quantile(7, 0.5) == 0
    assert student_tail(7, 0) == 0.5
    assert student_tail(7, math.inf) == 0
    assert student_tail(7, 1e300) == 0
    assert fisher_tail(3, 7, 0) == 1
    assert fisher_tail(3, 7, 1e300) == pytest.approx(0, abs=1e-12)
    assert fisher_tail(3, 7, math.inf) == 0
    assert math.isnan(student_tail(math.nan, 1))
    assert math.isnan(student_tail(7, math.nan))
    assert math.isnan(fisher_tail(math.nan, 7, 1))
