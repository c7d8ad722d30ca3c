"""`run` and `wall` come to the same verdict, which `tune` does not deny: a contradiction fails."""

from pathlib import Path

import asking
import judge
import pytest
from cases import command, find

from reap.evidence.judge.records import Diagnosis

pytestmark = [pytest.mark.verdict, pytest.mark.timed]
SCALE = 0.05


def compared(said: Diagnosis) -> judge.Verdict:
    return judge.Verdict(said.headline, [(each.cause, each.status) for each in said.findings])


@pytest.mark.parametrize("cured", [False, True], ids=["fault", "twin"])
@pytest.mark.parametrize("name", ["tcache", "brk"])
def test_three_verbs_give_one_answer(name: str, cured: bool, tmp_path: Path) -> None:
    words, environment = command(find(name), SCALE, cured=cured)
    budget = ("--budget", "20")
    one, other = (asking.diagnosis(verb, words, environment, tmp_path, budget) for verb in ("run", "wall"))
    assert not judge.contradictions(compared(one), compared(other)), f"{one.paragraph}\n\n{other.paragraph}"
    tuned = asking.settings(words, environment, tmp_path)
    for verdict in (compared(one), compared(other)):
        assert not judge.against_settings(tuned, verdict), f"{tuned}\n\n{one.paragraph}\n\n{other.paragraph}"
    if not cured:  # a gain that exists is not denied, however few rounds a busy machine allows
        assert "leave it alone" not in {one.headline, other.headline}, one.paragraph
