"""The proof that comparisons are right: lab/bench/deciding.py."""

import argparse
import math
import sys
from pathlib import Path

import pytest
from samples import comparison_of, side_of

from reap.experiment.records import Comparison

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import deciding


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 30, 0.0, 0.1157), (30, 30, 0.8843, 1.0), (5, 100, 0.0164, 0.1128)],
)
def test_binomial_intervals_are_those_of_clopper_and_pearson(
    count: int, of: int, low: float, high: float
) -> None:
    assert deciding.intervals.at_least(count, of) == pytest.approx(low, abs=1e-4)
    assert deciding.intervals.at_most(count, of) == pytest.approx(high, abs=1e-4)


def test_experiments_that_stop_at_the_answer_are_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeded. Intervals that are not widened leave the truth out too often, and it says so."""
    asked = argparse.Namespace(resamples=500)
    assert deciding.resampled(asked)
    assert "5% less, 500 experiments: a difference found in 100.0%" in capsys.readouterr().out
    monkeypatch.setattr(deciding.sequential, "WIDENING", 0.8)
    assert not deciding.resampled(asked)


@pytest.mark.timed
def test_a_known_difference_is_found(tmp_path: Path) -> None:
    found = deciding.against(deciding.perl(1e6), deciding.perl(1.5e6), tmp_path)
    ratio = found.sides[0].ratios["cpu"]
    assert ratio.verdict == "worse"
    assert 1.2 < ratio.ratio.value < 1.8


def test_the_programs_of_the_bias_are_there(tmp_path: Path) -> None:
    every = list(deciding.programs(tmp_path))
    assert len({name for name, _, _ in every}) == len(every) >= 10


def test_trials_are_made_in_parts_and_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = []

    def compared(*_: object) -> Comparison:
        made.append(1)
        return comparison_of([side_of("other", 1.05)])

    monkeypatch.setattr(deciding, "against", compared)
    file = tmp_path / "kept"
    first = argparse.Namespace(trials=2, made=deciding.Trials(file, math.inf))
    assert deciding.detect(first)
    late = argparse.Namespace(trials=3, made=deciding.Trials(file, 0.0))
    assert deciding.detect(late)
    assert len(made) == 2, "there was no time for the third"
    assert "2 of 3 times" in capsys.readouterr().out
    again = argparse.Namespace(trials=3, made=deciding.Trials(file, math.inf))
    assert deciding.detect(again)
    assert len(made) == 3
    assert "3 of 3 times" in capsys.readouterr().out
