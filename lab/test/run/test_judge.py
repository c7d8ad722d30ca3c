"""The verdict: a table of situations, and properties that hold for any records."""

import math
import random
import shlex
import statistics as python_statistics
from typing import Any

import msgspec
import pytest
from answers import fields_of
from any_records import ANY, comparisons, profiles
from hypothesis import given
from hypothesis import strategies as st
from lab.test.run.situations import (
    COMMAND,
    SITUATIONS,
    Situation,
    jemalloc,
    records,
)
from samples import comparison_of, side_of, three_answers

from reap.base.records import Estimate
from reap.compare import judge, phrases
from reap.evidence.analyse.suspicions.suspect import suspect
from reap.evidence.judge import commands, origins, rules
from reap.evidence.judge.verdict import diagnose
from reap.evidence.records import Collector, Wall
from reap.experiment import sequential, statistics


@pytest.mark.parametrize("case", SITUATIONS, ids=lambda case: case.name)
def test_situation(case: Situation) -> None:
    profile, comparison = records(case)
    facts = rules.Facts(profile=profile, comparison=comparison, command=COMMAND)
    assert next(rule.name for rule in rules.RULES if rule.applies(facts)) == case.rule
    verdict = diagnose(profile=profile, comparison=comparison, command=COMMAND)
    assert verdict.headline == case.headline
    said = f"{verdict.paragraph} {verdict.next_step}"
    for text in case.says:
        assert text in said
    if case.command is not None:
        assert verdict.next_command == case.command


SERVER = ("--server", "redis-server --port {port}", "--ready", "tcp", "--load", "redis-benchmark")


@pytest.mark.parametrize("case", SITUATIONS, ids=lambda case: case.name)
def test_a_server_keeps_its_options_in_the_next_command(case: Situation) -> None:
    """A server that is started by hand has no load, and one under a recorder no end."""
    profile, comparison = records(case)
    verdict = diagnose(profile=profile, comparison=comparison, command=COMMAND, again=SERVER)
    words = shlex.split(verdict.next_command)
    if words[:2] in (["reap", "compare"], ["reap", "run"]):
        assert tuple(words[-len(SERVER) :]) == SERVER
    elif words[:2] == ["reap", "wall"]:
        assert case.rule in {"allocate_less", "unknown_cost"}
        assert tuple(words[2:]) == SERVER
    else:
        assert words in ([], ["reap", "doctor"])
        assert words or verdict.headline != "allocate less"


def test_a_server_that_allocates_too_much_is_watched() -> None:
    """`reap wall` knows no loads that are measured, and prepares nothing."""
    assert commands.watch([*SERVER, "--loads", "2", "--warmup", "3"]) == shlex.join(["reap", "wall", *SERVER])
    assert commands.watch([*SERVER, "--prepare", "mkdir {arm}"]) == ""


def test_a_server_is_switched_by_its_preload_after_a_comparison() -> None:
    faster = jemalloc(0.8, provider="/opt/mine.so")
    comparison = comparison_of([faster])
    verdict = diagnose(comparison=comparison, command=COMMAND, again=SERVER)
    assert verdict.headline == "switch the allocator"
    assert verdict.next_command == commands.compare(list(SERVER), [faster])
    assert "before you start the server with LD_PRELOAD=/opt/mine.so" in verdict.next_step


def test_a_command_that_switches_keeps_what_is_preloaded_anyway() -> None:
    comparison = comparison_of([jemalloc(0.8, provider="/opt/mine.so")], preloaded="/opt/guard.so libm.so.6")
    verdict = diagnose(comparison=comparison, command=["./app"])
    assert verdict.next_command == "LD_PRELOAD='/opt/mine.so:/opt/guard.so libm.so.6' ./app"
    verdict = diagnose(comparison=comparison, command=["./app"], again=SERVER)
    assert "with LD_PRELOAD=/opt/mine.so:/opt/guard.so libm.so.6." in verdict.next_step


def test_loads_of_a_server_may_be_short() -> None:
    profile, comparison = records(next(case for case in SITUATIONS if case.rule == "too_short"))
    assert rules.Facts(profile=profile, comparison=comparison, command=COMMAND).too_short
    assert not rules.Facts(profile=profile, comparison=comparison, command=COMMAND, named=SERVER).too_short


def test_the_allocator_that_the_program_has_by_itself_is_never_advised() -> None:
    """By chance it may look faster."""
    own = jemalloc(0.8, provider="/usr/lib/libjemalloc.so.2", itself=True)
    said = "jemalloc is the malloc that prog has by itself (/usr/lib/libjemalloc.so.2): it is compared with "
    comparison = comparison_of([own], command=["/opt/prog"])
    alone = diagnose(comparison=comparison, command=COMMAND)
    assert alone.headline == "inconclusive"
    assert f"{said}itself, and glibc was not measured." in alone.paragraph
    assert "jemalloc takes" not in alone.paragraph
    beside = diagnose(comparison=comparison_of([own, side_of("mimalloc", 0.9)]), command=COMMAND)
    assert beside.headline == "switch the allocator"
    assert "mimalloc takes 10.0 % less CPU time" in beside.paragraph
    assert "jemalloc gains" not in beside.paragraph


OF_EVIDENCE = {
    *("cannot_preload", "change_either", "change_for_memory", "change_setting", "left_out", "long_runs"),
    *("stood_aside", "unfinished", "untried"),
}
"""Rules that need more than a recording and a comparison: lab/test/evidence has their situations."""


def test_every_rule_is_met_by_some_situation() -> None:
    assert {rule.name for rule in rules.RULES} - OF_EVIDENCE == {case.rule for case in SITUATIONS}


def test_the_first_rule_that_always_applies_is_the_last() -> None:
    facts = rules.Facts(command=[])
    assert [rule.name for rule in rules.RULES if rule.applies(facts)] == [rules.RULES[-1].name]


@pytest.mark.parametrize("answer", three_answers().answers, ids=lambda answer: answer.title)
def test_every_allocator_and_the_sampling_are_in_the_evidence(answer: Any) -> None:
    known = fields_of(answer)
    verdict = diagnose(profile=known.profile, comparison=known.comparison, command=answer.command)
    told = " ".join(fact.statement for fact in verdict.evidence)
    assert all(side.allocator in told for side in known.comparison.sides)
    assert "compared with itself" in told
    assert {fact.source for fact in verdict.evidence} == {"sampling", "comparison", "recording"}


def test_a_share_that_is_nearly_none_is_named_by_its_upper_limit() -> None:
    assert origins.about(Estimate(value=0.0, low=0.0, high=0.093)) == "at most 9.3 %"
    assert origins.about(Estimate(value=0.02, low=0.01, high=0.05)) == "about 2.0 % (1.0 to 5.0 %)"


def test_a_collector_that_takes_much_is_suspected() -> None:
    answer = three_answers().answers[0]
    known = fields_of(answer)

    def said(part: float) -> str:
        heard = [Collector(kind="cpython", count=7, pause_seconds=part, cpu_seconds=part)]
        wall = Wall(command=answer.command, cpu_seconds=1.0, wall_seconds=1.0, collections=heard)
        verdict = diagnose(
            profile=known.profile,
            comparison=known.comparison,
            command=answer.command,
            wall=wall,
            suspicions=suspect(wall),
        )
        return " ".join(
            [*(each.sentence for each in verdict.findings), *(each.statement for each in verdict.evidence)]
        )

    assert "CPython's collector of cycles ran 7 times and took 50 % of CPU time." in said(0.5)
    assert "Suspected, not tried: garbage collection takes time (50 % of its time)" in said(0.5)
    assert "collector" not in said(0.01)


def test_rounds_needed_grows_with_the_noise() -> None:
    sides = [jemalloc(0.95, half) for half in (0.02, 0.06, 0.1, 0.5)]
    needed = [judge.rounds_needed(side, comparison_of([side])) for side in sides]
    assert needed.pop() is None
    assert needed == sorted(needed, key=lambda rounds: rounds or 0)
    assert needed[1] != needed[2]


def test_rounds_that_were_all_alike_need_a_few_more() -> None:
    side = jemalloc(0.8, 0.0, rounds=1)
    assert judge.rounds_needed(side, comparison_of([side])) == 10


def test_rounds_needed_are_those_that_tell_a_gain_from_the_noise() -> None:
    """Its interval excludes 1 after 40 rounds, but not what the baseline differs from itself by."""
    side = side_of("tcmalloc", 0.9, 0.07, rounds=40)
    loud = comparison_of([side], noise=0.08)
    assert judge.standing(side, loud) is judge.Standing.INCONCLUSIVE
    assert (judge.rounds_needed(side, loud) or 0) > 80
    assert (judge.rounds_needed(side, comparison_of([side])) or 0) < 40


@pytest.mark.parametrize(("truth", "spread"), [(0.93, 0.15), (0.96, 0.08), (1.0, 0.06), (1.04, 0.1)])
def test_rounds_needed_is_right_within_a_factor_of_two(truth: float, spread: float) -> None:
    """Of experiments that 12 rounds leave open: the median prediction, against the median of what it took."""
    chance = random.Random(f"{truth} {spread}")
    predicted, took = [], []
    for _ in range(150):
        pairs = [truth * math.exp(chance.gauss(0, spread)) for _ in range(200)]
        open_side = side_of("jemalloc", rounds=12)
        found = statistics.typical(pairs[:12], widening=sequential.WIDENING)
        ratio = msgspec.structs.replace(open_side.ratios["cpu"], ratio=found)
        open_side.ratios["cpu"] = ratio
        comparison = comparison_of([open_side], noise=0.0, widening=sequential.WIDENING)  # as `_settles`
        if judge.standing(open_side, comparison) is not judge.Standing.INCONCLUSIVE:
            continue
        if needed := judge.rounds_needed(open_side, comparison):
            predicted.append(needed)
            took.append(next((n for n in range(5, 200) if _settles(pairs[:n])), 200))
    assert len(predicted) > 20
    assert 0.5 <= python_statistics.median(predicted) / python_statistics.median(took) <= 2


def _settles(pairs: list[float]) -> bool:
    found = statistics.typical(pairs)
    return found.low >= 0.95 or sequential.standing(found, sequential.WORTH) != "inconclusive"


def test_a_preload_that_cannot_be_named_gives_no_command() -> None:
    for provider in ("", "libjemalloc.so.2", "/opt/my libs/je.so", "/opt/a:b.so"):
        assert commands.switched(jemalloc(0.9, provider=provider), ["true"]) == ""


def test_an_allocator_of_ones_own_keeps_its_path_in_the_command() -> None:
    mine = side_of("mine", 0.96, 0.06, provider="/opt/mine.so")
    assert "--allocators mine=/opt/mine.so,jemalloc" in commands.compare(["--", "true"], [mine, jemalloc()])


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.8, 0.9, "10.0 to 20.0 % less"),
        (1.1, 1.2, "10.0 to 20.0 % more"),
        (0.95, 1.02, "5.0 % less to 2.0 % more"),
        (1.0, 1.02, "0.0 to 2.0 % more"),
        (0.5, 3.0, "50 % less to 3.00 times"),
    ],
)
def test_interval_in_words(low: float, high: float, text: str) -> None:
    assert phrases.interval(Estimate(value=(low + high) / 2, low=low, high=high)) == text


@ANY
@given(
    st.one_of(st.none(), profiles()),
    st.one_of(st.none(), comparisons()),
    st.lists(st.text(max_size=5), max_size=3),
)
def test_any_records_get_a_verdict(profile: Any, comparison: Any, command: list[str]) -> None:
    verdict = diagnose(profile=profile, comparison=comparison, command=command)
    assert verdict.paragraph
    assert verdict.next_step
    assert verdict == diagnose(profile=profile, comparison=comparison, command=command)


@ANY
@given(st.one_of(st.none(), profiles()), comparisons())
def test_only_a_trusted_and_proven_allocator_is_recommended(profile: Any, comparison: Any) -> None:
    verdict = diagnose(profile=profile, comparison=comparison, command=["true"])
    facts = rules.Facts(profile=profile, comparison=comparison, command=["true"])
    chosen = facts.best or facts.best_for_memory
    if verdict.headline != "switch the allocator":
        return
    assert chosen is not None
    assert chosen.verified
    assert chosen.same_exit
    assert chosen.same_output is not False
    assert not chosen.problem
    assert chosen.rounds >= 5
    metric = (judge.gain(chosen, comparison) or chosen.ratios["peak_resident"]).metric
    assert chosen.ratios[metric].ratio.high < 1
    noise = comparison.noise.get(metric)
    if noise and 0 < noise.ratio.low <= noise.ratio.value <= noise.ratio.high < math.inf:
        assert chosen.ratios[metric].ratio.high < noise.ratio.low


@ANY
@given(comparisons())
def test_distrust_of_all_sides_never_switches(comparison: Any) -> None:
    spoiled = [msgspec.structs.replace(side, same_output=False) for side in comparison.sides]
    verdict = diagnose(comparison=msgspec.structs.replace(comparison, sides=spoiled), command=["true"])
    assert verdict.headline != "switch the allocator"
