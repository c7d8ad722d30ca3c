"""What limits a verdict: a program that is too short to be compared, and other programs on the machine."""

from typing import Any

import msgspec
import pytest
from programs import library, program
from samples import comparison_of, ratio_of, side_of

from reap.allocators import catalog
from reap.compare import analyse, judge, phrases, words
from reap.compare import run as comparing
from reap.compare import thresholds as at
from reap.compare.view import view
from reap.experiment.budget import announcement
from reap.experiment.folder import Folder
from reap.experiment.records import Cell, Comparison, Run
from reap.experiment.specify import Conditions, specify
from reap.launch.records import Outcome


def short(value: float = 4.4, seconds: float = 0.0011, **changes: Any) -> Comparison:
    return comparison_of([side_of("tcmalloc", value, cpu_seconds=seconds)], **changes)


@pytest.mark.parametrize("value", [0.5, 1.0, 4.4])
def test_a_short_program_has_no_verdict_of_a_ratio(value: float) -> None:
    held = short(value)
    assert judge.standing(held.sides[0], held) is judge.Standing.SHORT
    assert judge.gain(held.sides[0], held) is None
    assert judge.pick(held.sides, held) is None
    assert words.headline(held) == "the program is too short to compare allocators on it"
    (said,) = words.verdict(held)
    assert "times" not in said
    assert "%" not in said
    assert words.more(held) == "", "more rounds are no advice"
    assert analyse.decided(held), "nor are they run"


def test_a_short_program_is_told_its_difference_in_milliseconds_and_what_to_do() -> None:
    held = short()
    assert words.verdict(held) == ["tcmalloc takes 3.74 ms more CPU time (4.84 ms instead of 1.10 ms)."]
    (said,) = words.conditions(held)
    assert said == (
        "perl takes 1.10 ms of CPU time. Below 20.0 ms the start of an allocator decides the ratio: give the "
        "program more work, such as a larger input."
    )
    assert said in view(held).verdict


def test_the_floor_is_of_the_program_as_it_is() -> None:
    assert words.headline(short(1.5, at.TOO_SHORT)) == "tcmalloc is slower than glibc"
    assert words.conditions(short(1.5, at.TOO_SHORT)) == []


def test_neither_commands_nor_servers_have_the_floor() -> None:
    """Two commands do not differ by the start of an allocator, and a server's start is not measured."""
    commands = short(against={"tcmalloc": ["./other"]})
    assert words.headline(commands) == "tcmalloc is slower than glibc"
    per_request = ratio_of("cpu_per_request", 0.8, baseline=1e-4)
    server = side_of("x", ratios={"cpu": ratio_of("cpu", 0.8), "cpu_per_request": per_request})
    assert words.headline(comparison_of([server], load=["load"], loads=3)) == "x is faster than glibc"


def test_load_is_told_where_something_is_inconclusive_with_what_to_do() -> None:
    wide = side_of("wide", 0.98, 0.1)
    said = phrases.load(comparison_of([wide], noise=0.05, others=0.65))
    assert said == (
        "Other programs used 65 % of the cores' time, which widens the intervals (the baseline against "
        "itself: ± 5.1 %): stop them, or allow more rounds."
    )
    assert words.conditions(comparison_of([wide], noise=0.05, others=0.65)) == [said]


def test_load_is_not_told_where_it_does_not_matter() -> None:
    fast = side_of("fast", 0.8)
    assert phrases.load(comparison_of([fast], others=0.65)) == "", "it is decided, and noise is low"
    assert phrases.load(comparison_of([fast], noise=0.04, others=0.65)), "a difference of 3 % would be hidden"
    wide = side_of("wide", 0.98, 0.1)
    for others in (None, 0.0, at.MUCH_LOAD / 2):
        assert phrases.load(comparison_of([wide], others=others)) == ""


def test_the_share_of_a_comparison_is_weighed_by_time_and_never_below_nothing() -> None:
    def run(others: float | None, seconds: float) -> Run:
        return Run(
            cell=Cell(workload="w"),
            outcome=Outcome(exit_code=0),
            order=0,
            started=0.0,
            others=others,
            seconds=seconds,
        )

    assert analyse.others([run(0.9, 1.0), run(0.1, 3.0), run(None, 50.0)]) == pytest.approx(0.3)
    assert analyse.others([run(-0.05, 1.0)]) == 0
    assert analyse.others([run(None, 1.0)]) is None


def test_the_engine_keeps_what_others_took_and_a_resumed_experiment_has_it(tmp_path, monkeypatch) -> None:
    taken = iter([0.5, 0.25] * 50)
    monkeypatch.setattr("reap.launch.host.load.watch", lambda: lambda: next(taken))
    spec = specify(
        [program("busy"), "3"], catalog.parse(f"good={library('good')}"), conditions=Conditions(runs=2)
    )
    with Folder.create(tmp_path / "x", spec) as folder:
        first = comparing.compare(folder)
    assert first.others is not None
    assert 0.25 <= first.others <= 0.5
    with Folder.resume(tmp_path / "x") as folder:
        assert comparing.compare(folder).others == first.others
        assert {run.others for run in folder.runs} <= {0.5, 0.25}


@pytest.mark.parametrize(("seconds", "said"), [(107.734, "108"), (0.0123, "0.01"), (3600.2, "3600")])
def test_a_budget_is_told_in_no_hundredths_of_many_seconds(seconds: float, said: str) -> None:
    spec = specify([program("busy")], catalog.parse("glibc,jemalloc"), conditions=Conditions(budget=seconds))
    assert f"as often as {said} s allow" in announcement(spec, 2, [])


def test_what_takes_more_by_its_rounds_does_not_take_fewer_seconds_by_its_median() -> None:
    cpu = msgspec.structs.replace(ratio_of("cpu", 1.01, 0.02), value=1.9)
    (said, *_) = words.verdict(comparison_of([side_of("mimalloc", ratios={"cpu": cpu})]))
    assert said.startswith("mimalloc takes 1.0 % more CPU time, 2.02 s instead of 2.00 s")


def test_times_are_in_the_sentence_of_every_side() -> None:
    held = comparison_of([side_of("mimalloc", 0.9), side_of("tcmalloc", 2.2)])
    said = words.verdict(held)
    assert said[0].startswith("mimalloc takes 10.0 % less CPU time, 1.80 s instead of 2.00 s (95 % CI 9.0")
    assert said[1].startswith("tcmalloc takes 2.20 times the wall time, 4.40 s instead of 2.00 s (95 % CI ")
    assert "2.19 to 2.21 times" in said[1]
    assert view(held).verdict[0] == said[0]


def test_an_old_comparison_without_load_is_read() -> None:
    text = msgspec.json.encode(comparison_of([side_of("x")]))
    fields = msgspec.json.decode(text)
    fields.pop("others", None)
    assert msgspec.json.decode(msgspec.json.encode(fields), type=Comparison).others is None


def test_time_without_a_partner_is_told_in_details_alone() -> None:
    held = comparison_of([side_of("jemalloc", 0.9, unpaired=0.188), side_of("tcmalloc", 0.9, unpaired=0.011)])
    said = "18.8 % of jemalloc's time and 1.1 % of tcmalloc's time ran without its partner"
    assert any(line.startswith(said) for line in words.reading(held))
    assert said not in " ".join([*words.verdict(held), *words.conditions(held), words.why(held)])
