"""`run` and `wall` come to the same verdict on a program: a contradiction fails."""

from pathlib import Path

import asking
import pytest
from cases import command, find

from reap.evidence.judge.records import Diagnosis

pytestmark = [pytest.mark.verdict, pytest.mark.timed]
SCALE = 0.05


def contradictions(one: Diagnosis, other: Diagnosis) -> list[str]:
    """What two verdicts on one program say against each other; what one leaves open contradicts nothing."""
    said = []
    if "inconclusive" not in {one.headline, other.headline} and one.headline != other.headline:
        said.append(f"{one.headline} and {other.headline}")
    for first, second in ((one, other), (other, one)):
        proven = {each.cause for each in first.findings if each.status == "proven"}
        refuted = {each.cause for each in second.findings if each.status == "refuted"}
        said += [f"{cause} is proven and refuted" for cause in proven & refuted]
    return said


@pytest.mark.parametrize("cured", [False, True], ids=["fault", "twin"])
@pytest.mark.parametrize("name", ["tcache", "brk"])
def test_two_verbs_give_one_answer(name: str, cured: bool, tmp_path: Path) -> None:
    words, environment = command(find(name), SCALE, cured=cured)
    budget = ("--budget", "20")
    one, other = (asking.diagnosis(verb, words, environment, tmp_path, budget) for verb in ("run", "wall"))
    assert not contradictions(one, other), f"{one.paragraph}\n\n{other.paragraph}"
    if not cured:  # a gain that exists is not denied, however few rounds a busy machine allows
        assert "leave it alone" not in {one.headline, other.headline}, one.paragraph
