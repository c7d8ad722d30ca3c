"""Programs rebuilt from reports of memory that stays, and what is stated of them."""

import re
import sys

import pytest
from memory import HOLDINGS, Holding, best, by_hand, command, measured, trials
from memory.judge import close, of_owner, of_remedy, of_twin
from printing import printed

from reap.rss.records import NAMES

SCALE = 0.01


def _is_slow(case: Holding) -> bool:
    """Whether another compiler than gcc, or an interpreter that starts slowly, is needed."""
    return case.linked or not case.source.endswith((".cpp", ".py"))


_EACH = [pytest.param(case, id=case.name, marks=[pytest.mark.slow] * _is_slow(case)) for case in HOLDINGS]


@pytest.mark.parametrize("case", _EACH)
def test_a_program_and_its_twin_print_the_same(case: Holding) -> None:
    if case.missing:
        pytest.skip(f"needs {case.missing}")
    assert printed(*command(case, SCALE)) == printed(*command(case, SCALE, cured=True))


def test_each_has_a_report_and_a_name_of_its_own() -> None:
    assert len({case.name for case in HOLDINGS}) == len(HOLDINGS)
    assert len({case.report for case in HOLDINGS}) == len(HOLDINGS)
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", case.report) for case in HOLDINGS)
    assert sum(case.handed for case in HOLDINGS) == 8
    assert sum(not case.handed for case in HOLDINGS) >= 9


def test_owners_are_parts_of_an_account() -> None:
    for case in HOLDINGS:
        assert not set(case.owners) & set(case.never), case.name
        assert case.owners, case.name
        assert {*case.owners, *case.never} <= {*NAMES, "copied"}, case.name


def test_the_stated_remedies_are_those_that_gave_most_by_hand() -> None:
    assert measured().keys() == {case.name for case in HOLDINGS}
    for case in HOLDINGS:
        settled = measured()[case.name]
        assert {"alone", "twin"} <= settled.keys(), case.name
        assert set(case.remedy) == best(settled), (case.name, settled)


def test_verdicts_are_judged_by_owner_and_by_arm() -> None:
    case = next(each for each in HOLDINGS if each.name == "above")
    assert [of_owner(cause, case) for cause in ("pinned", "live", "stack")] == [
        "right",
        "wrong",
        "inconclusive",
    ]
    assert [of_twin(cause, case) for cause in ("pinned", "nothing")] == ["wrong", "right"]
    settled = {"alone": 100.0, "twin": 5.0, "trim": 6.0, "arena_max": 60.0}
    said = [of_remedy(first, settled) for first in ("trim", "arena_max", "", "an allocator")]
    assert said == ["right", "wrong", "wrong", "inconclusive"]
    assert of_remedy("", {"alone": 100.0, "trim": 99.0}) == "right"
    assert of_remedy("trim", {"alone": 100.0, "trim": 99.0}) == "wrong"
    assert close(104.0, 100.0)
    assert not close(120.0, 100.0)


def test_the_remedy_ranked_first_is_read_as_an_arm() -> None:
    def tried(name: str, settled: float | None, problem: str = "") -> dict[str, object]:
        return {"change": {"name": name}, "settled": settled, "problem": problem}

    def first(*each: dict[str, object]) -> tuple[str, float]:
        found = trials.first({"answer": [{"baseline": 100e6, "tried": each, "not_tried": []}]})
        return found.arm, found.megabytes

    assert first(tried("malloc_trim once", 5e6), tried("two arenas", 50e6)) == ("trim", 5.0)
    assert first(tried("two arenas", None, "it failed"), tried("one arena", 50e6)) == ("one arena", 50.0)
    assert first(tried("two arenas", 96e6)) == ("", 100.0)
    assert first() == ("", 100.0)
    with pytest.raises(LookupError):
        trials.first({"verdicts": []})


def test_an_arm_is_among_the_best_within_a_tenth_or_four_megabytes() -> None:
    assert best({"alone": 100.0, "a": 20.0, "b": 24.0, "c": 25.0}) == {"a", "b"}
    assert best({"alone": 200.0, "a": 100.0, "b": 109.0, "c": 112.0}) == {"a", "b"}


def test_the_second_half_alone_counts_and_each_poll_until_the_next() -> None:
    polled = [(0.0, 500.0), (0.6, 500.0), (1.0, 90.0), (1.1, 30.0), (1.85, 90.0)]
    assert by_hand.median_of_second_half(polled, 2.0) == 30.0


def test_memory_of_children_is_added_up() -> None:
    work = "import os, time; block = bytearray(30_000_000); block[::4096] = b'1' * len(block[::4096])"
    child = f"{work}; pid = os.fork(); block[::4096] = b'2' * len(block[::4096]); time.sleep(0.5)"
    settled = by_hand.settled([sys.executable, "-c", f"{child}; pid and os.waitpid(pid, 0)"], {})
    assert 55 < settled < 120
