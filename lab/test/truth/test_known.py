"""The programs of the truth suite's `known`: each does the same with its fault and without, and data fit."""

import subprocess

import known
import pytest
from known.records import MATTERS

SCALE = 0.02
"""Of the programs: some tens of milliseconds each."""

CASES = [
    pytest.param(
        case, id=case.name, marks=[pytest.mark.verdict] if case.linked or case.source.endswith(".js") else []
    )
    for case in known.CASES
]


def printed(case: known.Known, *, cured: bool) -> bytes:
    words = known.command(case, SCALE, cured=cured)
    return subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize("case", CASES)
def test_the_twin_prints_the_same(case: known.Known) -> None:
    with_fault = printed(case, cured=False)
    assert with_fault.strip()
    assert printed(case, cured=True) == with_fault


def test_names_are_unlike_and_measured() -> None:
    names = [case.name for case in known.CASES]
    assert len(set(names)) == len(names)
    assert sorted(known.measured()) == sorted(names)


@pytest.mark.parametrize("case", known.CASES, ids=lambda case: case.name)
def test_what_is_said_to_gain_has_gained(case: known.Known) -> None:
    changes = known.measured()[case.name]
    middle = min(values[1] for arm, values in changes.items() if arm != "twin")
    if case.truth.gain is not None:
        assert case.truth.gain == (middle <= -MATTERS)


@pytest.mark.parametrize("case", known.CASES, ids=lambda case: case.name)
def test_a_truth_does_not_contradict_itself(case: known.Known) -> None:
    truth = case.truth
    assert truth.conclusions
    assert not set(truth.causes) & set(truth.never)
    assert not (truth.gain and "leave it alone" in truth.conclusions)
    assert truth.gain is not False or "switch the allocator" not in truth.conclusions


def test_ci_asks_about_few_and_about_none_that_is_held_out() -> None:
    asked = [case for case in known.CASES if case.ci]
    assert 8 <= len(asked) <= 12
    assert not any(case.held_out for case in asked)
    assert {case.source for case in known.CASES if not case.held_out} >= {case.source for case in asked}
    assert sum(case.held_out for case in known.CASES) >= 6
