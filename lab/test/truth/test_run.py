"""`reap run` on programs whose cause is known by construction: it advises nothing false. One pass."""

from pathlib import Path

import asking
import judge
import pytest
from cases import Case, asked, has_twin

SCALE = 0.15
pytestmark = [pytest.mark.verdict, pytest.mark.timed]


def questions() -> list[tuple[Case, bool]]:
    return [
        (case, cured)
        for case in asked("run")
        for cured in (False, True)
        if not cured or (case.run and case.run.twin and has_twin(case))
    ]


@pytest.mark.parametrize(
    ("case", "cured"),
    questions(),
    ids=[f"{case.name}-{'twin' if cured else 'fault'}" for case, cured in questions()],
)
def test_nothing_false_is_advised(case: Case, cured: bool, tmp_path: Path) -> None:
    assert case.run is not None
    diagnosis = asking.of_run(case, SCALE, tmp_path, asking.QUICK, cured=cured)
    assert judge.of_run(diagnosis, case.run, cured=cured).outcome != "wrong", diagnosis.paragraph
