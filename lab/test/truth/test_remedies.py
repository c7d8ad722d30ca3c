"""`reap rss --try` on programs of which it was measured by hand what each remedy gives: one pass."""

import pytest
from memory import HOLDINGS, Holding, asked, measured, trials
from memory.judge import close, of_remedy

pytestmark = [pytest.mark.verdict, pytest.mark.settled]

_ASKED = [case for case in HOLDINGS if case.name in ("above", "decoded", "spike") and not case.missing]


@pytest.mark.parametrize("case", _ASKED, ids=lambda case: case.name)
def test_the_remedy_that_gives_most_is_ranked_first(case: Holding) -> None:
    ranked = trials.first(asked.of_rss(case, "--try"))
    settled = measured()[case.name]
    assert of_remedy(ranked.arm, settled) == "right", ranked
    assert close(ranked.megabytes, settled[ranked.arm]), ranked
