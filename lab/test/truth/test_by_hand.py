"""Gains measured by hand, and printed intervals held against them."""

import json
import random
import sys
from pathlib import Path

import by_hand
import covering
import pytest
from by_hand import Arm, Gain


def test_the_gain_of_pairs_is_their_median_and_its_interval_holds_it() -> None:
    found = by_hand.of_pairs([1.0] * 9, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    assert found.gain == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((0.2, 0.8))


def test_few_pairs_give_the_whole_range() -> None:
    found = by_hand.of_pairs([1.0] * 3, [0.9, 1.2, 0.5])
    assert (found.low, found.high) == pytest.approx((-0.2, 0.5))


def test_intervals_of_the_median_hold_it_in_at_least_95_of_100() -> None:
    numbers = random.Random(7)
    held = 0
    for _ in range(1000):
        found = by_hand.of_pairs([1.0] * 12, [1 - numbers.gauss(0.1, 0.05) for _ in range(12)])
        held += found.low <= 0.1 <= found.high
    assert held >= 945


def test_an_arm_that_fails_is_left_out_and_the_others_stay() -> None:
    work = [sys.executable, "-c", "sum(range(10**5))"]
    found = by_hand.gains(Arm(work, {}), {"same": Arm(work, {}), "bad": Arm(["false"], {})}, rounds=2)
    assert set(found) == {"same"}
    assert found["same"].low <= found["same"].gain <= found["same"].high < 1


def side(name: str, low: float, high: float, **more: object) -> dict[str, object]:
    ratio = {"ratio": {"value": (low + high) / 2, "low": low, "high": high}}
    return {"allocator": name, "ratios": {"cpu": ratio}, "same_output": True, "same_exit": True} | more


def test_intervals_are_found_wherever_a_verb_puts_its_sides() -> None:
    tree = {
        "answers": [
            {"comparison": {"sides": [side("jemalloc", 0.5, 0.6)]}},
            {"wall_verdict": {"trial": {"sides": [side("larger caches", 0.9, 1.1)]}}},
        ]
    }
    assert covering.printed(tree) == {
        "jemalloc": pytest.approx((0.4, 0.5)),
        "larger caches": pytest.approx((-0.1, 0.1)),
    }


def test_arms_that_ran_differently_or_against_themselves_print_no_gain() -> None:
    sides = [side("a", 0.5, 0.6, same_output=False), side("b", 0.5, 0.6, same_exit=False)]
    assert covering.printed([*sides, side("c", 0.9, 1.1, itself=True)]) == {}
    assert covering.printed({"allocator": "d", "ratios": {}, "same_exit": True}) == {}


def test_arms_are_read_from_experiments(tmp_path: Path) -> None:
    spec = {"allocators": [{"name": "j", "library": "/lib/j.so", "environment": {"A": "1"}}]}
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "experiment.json").write_text(json.dumps({"spec": spec}))
    assert covering.arms_of(tmp_path) == {"j": ("/lib/j.so", {"A": "1"})}


def test_an_interval_covers_a_truth_that_it_meets() -> None:
    truth = Gain(0.1, 0.08, 0.12)
    assert covering.covers((0.11, 0.3), truth)
    assert not covering.covers((0.13, 0.3), truth)
    assert not covering.covers((-0.1, 0.07), truth)
