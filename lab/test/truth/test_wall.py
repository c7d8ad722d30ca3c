"""`reap wall` on programs whose cause is known by construction, and on their twins: one pass."""

from pathlib import Path

import asking
import judge
import pytest
from cases import Case, asked, has_twin

pytestmark = pytest.mark.verdict
SCALE = 0.4
"""Of the programs: under a second each. At 0.25 every verdict of the C programs is still the same."""
CASES = asked("wall")


def require(case: Case) -> None:
    if case.missing:
        pytest.skip(f"needs {case.missing}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cause_is_suspected_and_no_other(case: Case, tmp_path: Path) -> None:
    require(case)
    assert case.wall is not None
    suspicions = asking.of_wall(case, SCALE, tmp_path)
    judged = judge.of_wall(suspicions, case.wall, cured=False)
    assert judged.outcome != "wrong", judged.said
    if case.wall.cause and case.wall.sure:
        assert judged.outcome == "right", judged.said
    assert case.wall.quote in " ".join(said.statement for each in suspicions for said in each.statements)


@pytest.mark.parametrize("case", [*filter(has_twin, CASES)], ids=lambda case: case.name)
def test_the_cause_is_not_suspected_of_the_same_work_without_it(case: Case, tmp_path: Path) -> None:
    require(case)
    assert case.wall is not None
    suspicions = asking.of_wall(case, SCALE, tmp_path, cured=True)
    judged = judge.of_wall(suspicions, case.wall, cured=True)
    assert judged.outcome != "wrong", judged.said
