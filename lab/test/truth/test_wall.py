"""`reap wall` on programs whose cause is known by construction, and on their twins: one pass."""

from pathlib import Path

import asking
import judge
import pytest
from cases import Case, asked, find, has_twin

pytestmark = pytest.mark.verdict
SCALE = 0.4
"""Of the programs: under a second each. At 0.25 every verdict of the C programs is still the same."""
CASES = asked("wall")


def require(case: Case) -> None:
    if case.missing:
        pytest.skip(f"needs {case.missing}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cause_is_named_and_no_other(case: Case, tmp_path: Path) -> None:
    require(case)
    assert case.wall is not None
    verdict = asking.of_wall(case, SCALE, tmp_path)
    judged = judge.of_wall(verdict, case.wall, cured=False)
    assert judged.outcome != "wrong", verdict.paragraph
    if case.wall.cause and case.wall.sure:
        assert judged.outcome == "right", verdict.paragraph
    assert case.wall.quote in " ".join(each.statement for each in verdict.evidence)


@pytest.mark.parametrize("case", [*filter(has_twin, CASES)], ids=lambda case: case.name)
def test_the_cause_is_not_named_of_the_same_work_without_it(case: Case, tmp_path: Path) -> None:
    require(case)
    assert case.wall is not None
    verdict = asking.of_wall(case, SCALE, tmp_path, cured=True)
    assert judge.of_wall(verdict, case.wall, cured=True).outcome != "wrong", verdict.paragraph


def test_a_busy_allocator_on_its_fast_path_is_left_of_the_knee(tmp_path: Path) -> None:
    verdict = asking.of_wall(find("many"), SCALE, tmp_path)
    assert verdict.regime == "left of the knee", verdict.paragraph
    assert verdict.expect is not None
    assert verdict.expect.low == 0
    assert verdict.expect.high < 0.3
