"""`reap rss` on programs whose memory is where they put it, and on their twins: one pass."""

import asking
import judge
import pytest
from cases import Case, asked

pytestmark = pytest.mark.verdict


@pytest.mark.parametrize("cured", [False, True], ids=["fault", "twin"])
@pytest.mark.parametrize("case", asked("rss"), ids=lambda case: case.name)
def test_the_part_that_is_large_is_named(case: Case, cured: bool) -> None:
    assert case.rss is not None
    verdict = asking.of_rss(case, 0.6, cured=cured)
    judged = judge.of_rss(verdict, case.rss, cured=cured)
    assert judged.outcome == "right" or (judged.outcome == "inconclusive" and not case.rss.sure), verdict
