"""What is said of a conclusion's figures: their mean and extremes, of shares in percent."""

from types import SimpleNamespace

import pytest

from reap.base.records import Estimate, exactly
from reap_studies.study import page
from reap_studies.study.judging import programs, words
from reap_studies.study.records import Conclusion, Finding, Variation

PARTS = {"question": "", "claim": "", "published": "", "rule": "", "answer": "", "standing": "holds"}


def finding(workload, value, figure="over glibc", **said):
    return Finding(workload=workload, figure=figure, ratio=exactly(value), side="for", **said)


def concluded(*findings, **said):
    counted = [each for each in findings if not each.excluded]
    return Conclusion(findings=list(findings), mean=programs.mean(counted), **PARTS, **said)


def test_the_mean_of_ratios_is_geometric_and_beside_the_extremes():
    said = words.figures(concluded(finding("a", 0.5), finding("b", 2.0), finding("c", 1.0)))
    assert said.startswith("3 programs, mean 1.000 [too few programs], ")
    assert said.endswith("from 0.500 (a, over glibc) to 2.00 (b, over glibc).")


def test_the_mean_of_shares_is_arithmetic_and_one_may_be_zero():
    values = (("a", 0.0), ("b", 0.1), ("c", 0.2))
    shares = [finding(name, value, programs.SHARE) for name, value in values]
    mean = programs.mean(shares)
    assert mean is not None
    assert mean.value == pytest.approx(0.1)
    assert mean.low < 0.1 < mean.high
    said = words.figures(concluded(*shares))
    assert said.startswith("3 programs, mean 10.0 % [")
    assert said.endswith("from 0 % (a, share of CPU time) to 20 % (c, share of CPU time).")


@pytest.mark.parametrize("values", [[3.3], [4.2, 114]])
def test_figures_of_few_programs_are_listed(values):
    findings = [finding(f"program-{value}", value) for value in values]
    assert words.figures(concluded(*findings)).startswith(f"Measured: program-{values[0]}, over glibc ")


def test_what_does_not_count_is_in_no_mean():
    toy = finding("toy", 9.0, excluded=["toy"])
    assert words.figures(concluded(finding("a", 1.0), toy)) == "Measured: a, over glibc 1.000."
    assert words.figures(concluded(toy)) == "Nothing that counts was measured."


def test_a_verdict_that_one_program_makes_says_so():
    alone = Variation(what="toys alone", programs=2, standing="inconclusive")
    said = words.sensitivity(concluded(finding("a", 1.0), flips={"a": "does not hold"}, sensitivity=[alone]))
    assert said == (
        "Does not survive leaving one program out: does not hold without a. "
        "Toys alone: inconclusive (2 programs)."
    )
    assert words.sensitivity(concluded(finding("a", 1.0), flips={})) == (
        "Survives leaving any one program out."
    )
    assert words.sensitivity(concluded(finding("a", 1.0))) == "", "of too few programs nothing is said"


def test_an_interval_is_in_the_figure_s_own_unit():
    wide = Estimate(value=0.161, low=0.1, high=0.222)
    assert words.with_interval("over glibc", wide) == "0.161 [0.100, 0.222]"
    assert words.with_interval(programs.SHARE, wide) == "16.1 % [10.0 to 22.2 %]"


def test_how_many_conclusions_stand_is_a_sentence():
    standings = ["holds", "holds", "inconclusive", "does not hold"]
    parts = {**PARTS, "findings": []}
    study = SimpleNamespace(conclusions=[Conclusion(**{**parts, "standing": each}) for each in standings])
    said = "Of 4 published conclusions: 2 hold, 1 is inconclusive, 1 does not hold."
    assert page.verdict(study) == said
    assert page.verdict(SimpleNamespace(conclusions=[])) == ""
