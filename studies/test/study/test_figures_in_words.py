"""What is said of a conclusion's figures: their mean and extremes, of shares in percent."""

from types import SimpleNamespace

import pytest

from reap.base.records import Estimate, exactly
from reap_studies.study import judging, page
from reap_studies.study.records import Conclusion, Finding


def finding(workload, value, figure="over glibc"):
    return Finding(workload=workload, figure=figure, ratio=exactly(value), side="for")


def test_the_mean_of_ratios_is_geometric_and_beside_the_extremes():
    said = judging.figures([finding("a", 0.5), finding("b", 2.0), finding("c", 1.0)])
    assert said.startswith("3 figures, mean 1.000 [")
    assert said.endswith("from 0.500 (a, over glibc) to 2.00 (b, over glibc).")


def test_the_mean_of_shares_is_arithmetic_and_one_may_be_zero():
    shares = [finding(name, value, judging.SHARE) for name, value in (("a", 0.0), ("b", 0.1), ("c", 0.2))]
    mean = judging.middle(shares)
    assert mean is not None
    assert mean.value == pytest.approx(0.1)
    assert mean.low < 0.1 < mean.high
    assert "3 figures, mean 10.0 % [" in judging.figures(shares)
    assert judging.figures(shares).endswith("from 0 % (a, share of CPU time) to 20 % (c, share of CPU time).")


@pytest.mark.parametrize(
    "findings",
    [
        [finding("lcc", 3.3)],
        [finding("mod-bc", 4.2), finding("mod-bc", 114)],
        [finding("mean of 5", 1.2)] * 3,
    ],
)
def test_what_is_of_few_or_a_mean_already_has_no_mean(findings):
    assert judging.middle(findings) is None
    assert judging.figures(findings).startswith(f"Measured: {findings[0].workload}, over glibc ")


def test_an_interval_is_in_the_figure_s_own_unit():
    wide = Estimate(value=0.161, low=0.1, high=0.222)
    assert judging.with_interval("over glibc", wide) == "0.161 [0.100, 0.222]"
    assert judging.with_interval(judging.SHARE, wide) == "16.1 % [10.0 to 22.2 %]"


def test_how_many_conclusions_stand_is_a_sentence():
    standings = ["holds", "holds", "inconclusive", "does not hold"]
    parts = {"question": "", "claim": "", "published": "", "rule": "", "answer": "", "findings": []}
    study = SimpleNamespace(conclusions=[Conclusion(standing=each, **parts) for each in standings])
    said = "Of 4 published conclusions: 2 hold, 1 is inconclusive, 1 does not hold."
    assert page.verdict(study) == said
    assert page.verdict(SimpleNamespace(conclusions=[])) == ""
