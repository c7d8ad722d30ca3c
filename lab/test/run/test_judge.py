"""The verdict: a table of situations, and properties that hold for any records."""

import math
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from any_records import ANY, comparisons, profiles
from hypothesis import given
from hypothesis import strategies as st
from samples import (
    MIB,
    comparison_of,
    profile_of,
    share_of,
    side_of,
    three_answers,
)

from reap.base.records import Estimate, exactly
from reap.compare import judge, phrases
from reap.experiment.records import Comparison
from reap.recording.records import Profile
from reap.run.judge import commands, rules
from reap.run.judge.verdict import diagnose
from reap.wall.records import Collector

COMMAND = ["perl", "words.pl", "it's here.txt"]
SMALL, MIDDLE, LARGE = share_of(0.02), share_of(0.09), share_of(0.32)


def tcmalloc(*args: Any, **kwargs: Any) -> Any:
    return side_of("tcmalloc", *args, **kwargs)


def jemalloc(*args: Any, **kwargs: Any) -> Any:
    return side_of("jemalloc", *args, **kwargs)


@dataclass(frozen=True)
class Situation:
    name: str
    headline: str
    rule: str
    share: Any = MIDDLE
    sides: tuple[Any, ...] | None = None
    says: tuple[str, ...] = ()
    command: str | None = None
    profile: dict[str, Any] | None = None
    comparison: dict[str, Any] | None = None


NO_PROFILE = {"none": True}

SITUATIONS = [
    Situation(
        "a clear gain",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.9), tcmalloc(0.97)),
        says=("jemalloc takes 10.0 % less CPU time", "95 % interval 9.0 to 11.0 % less", "9.0 %"),
        command="LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "the thriftier of two equals",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.900, memory=1.2), tcmalloc(0.905, memory=1.02)),
        says=("tcmalloc takes 9.5 % less", "as fast as the best, with less memory"),
    ),
    Situation(
        "a gain although the share is small",
        "switch the allocator",
        "switch_for_time",
        SMALL,
        (jemalloc(0.85),),
        says=("larger than that", "probably comes from elsewhere"),
    ),
    Situation(
        "a gain in wall time alone",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(1.0, wall=0.8),),
        says=("20 % less wall time",),
    ),
    Situation(
        "less CPU but more wall time",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(0.9, wall=1.1),),
        says=("but 10.0 % more (95 % interval 9.0 to 11.0 % more) wall time",),
    ),
    Situation(
        "proven and small",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(0.985, 0.004),),
        says=("1.5 % less", "next build"),
    ),
    Situation(
        "within the noise",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(0.965, 0.01),),
        comparison={"noise": 0.05},
    ),
    Situation(
        "within large noise",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.93, 0.02),),
        comparison={"noise": 0.2},
        says=("within the noise (glibc against itself differs by 19.9 % less to 20 % more",),
    ),
    Situation(
        "nothing to gain",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(1.0), tcmalloc(1.03)),
        says=("None of jemalloc and tcmalloc gives a gain worth having", "more than 1.0 % less"),
    ),
    Situation("everything slower", "leave it alone", "no_gain", sides=(jemalloc(1.2), tcmalloc(1.4))),
    Situation(
        "a dear gain",
        "leave it alone",
        "bad_trade",
        sides=(jemalloc(0.95, memory=1.6),),
        says=("not worth its price", "320 MiB instead of 200 MiB"),
    ),
    Situation(
        "a dear gain that pays",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8, memory=1.6),),
        says=("320 MiB instead of 200 MiB",),
    ),
    Situation(
        "dear in ratio, cheap in bytes",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.9, memory=2.5, peak=4 * MIB),),
    ),
    Situation(
        "the cheap one before the dear one",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.91, memory=1.8), tcmalloc(0.93)),
        says=("tcmalloc takes 7.0 % less",),
    ),
    Situation(
        "memory saved for nothing",
        "switch the allocator",
        "switch_for_memory",
        sides=(jemalloc(1.0, memory=0.6, peak=800 * MIB),),
        says=("480 MiB instead of 800 MiB",),
    ),
    Situation(
        "memory saved, time lost",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(1.2, memory=0.6, peak=800 * MIB),),
    ),
    Situation(
        "other output",
        "inconclusive",
        "not_compared",
        sides=(jemalloc(0.5, same_output=False),),
        says=("jemalloc: the program's output was different under it",),
        command="reap doctor",
    ),
    Situation("other exit status", "inconclusive", "not_compared", sides=(jemalloc(0.5, same_exit=False),)),
    Situation("not verified", "inconclusive", "not_compared", sides=(jemalloc(0.5, verified=False),)),
    Situation("a ratio that is none", "inconclusive", "not_compared", sides=(jemalloc(0.0, 0.0),)),
    Situation("a ratio without an end", "inconclusive", "not_compared", sides=(jemalloc(math.inf, 0.0),)),
    Situation(
        "output varies by itself",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8, same_output=None),),
        comparison={"stdout_varies": True},
    ),
    Situation(
        "the liar beside the honest",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.3, same_output=False), tcmalloc(0.9)),
        says=("tcmalloc takes 10.0 % less",),
    ),
    Situation(
        "too few rounds",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.8, rounds=3),),
        says=("3 rounds are too few",),
    ),
    Situation(
        "one round",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.8, rounds=1),),
        says=("1 round is too few",),
    ),
    Situation(
        "a wide interval",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.96, 0.06), tcmalloc(1.0)),
        command="reap compare --allocators jemalloc --runs 45 -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "hopelessly wide",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(1.0, 0.6),),
        says=("hardly settle it",),
        command="reap doctor",
    ),
    Situation(
        "wide and stopped early",
        "inconclusive",
        "wide_intervals",
        sides=(jemalloc(0.96, 0.06),),
        comparison={"stopped_early": True},
        says=("budget ended", "larger --budget"),
    ),
    Situation(
        "a budget too small for two rounds says what it needs",
        "inconclusive",
        "small_budget",
        sides=(side_of("jemalloc", problem="too few rounds were run for an interval (1)"),),
        comparison={"stopped_early": True, "needed_budget": 12.0, "rounds": 1},
        says=("ended after 1 round, and", "Two rounds take about 12 s"),
        command="reap run --budget 12 -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "wide, but the share is small",
        "leave it alone",
        "small_share",
        SMALL,
        (jemalloc(0.98, 0.1),),
        says=("not what holds this program back", "too noisy"),
    ),
    Situation("a small share", "leave it alone", "small_share", SMALL, (jemalloc(1.0),)),
    Situation("a small share, never compared", "leave it alone", "small_share", SMALL),
    Situation(
        "small in user time, kernel not seen",
        "inconclusive",
        "not_compared",
        share_of(0.02, sees_kernel=False),
        says=("only in part", "kernel could not be sampled"),
    ),
    Situation(
        "large and no allocator helps",
        "allocate less",
        "allocate_less",
        LARGE,
        (jemalloc(1.0),),
        says=("allocate less", "Perl_newSV"),
        command="reap record --depth full -o full.reap -- perl words.pl 'it'\"'\"'s here.txt'"
        " && reap show full.reap",
    ),
    Situation(
        "large, mostly temporary",
        "allocate less",
        "allocate_less",
        LARGE,
        (jemalloc(1.0),),
        profile={"temporary": exactly(0.9)},
        says=("reuse one buffer at Perl_newSV", "GLIBC_TUNABLES"),
    ),
    Situation(
        "large, recorded in full",
        "allocate less",
        "allocate_less",
        LARGE,
        (jemalloc(1.0),),
        profile={"depth": "full"},
        command="",
    ),
    Situation(
        "large, never compared",
        "inconclusive",
        "not_compared",
        LARGE,
        says=("a large part", "was tried"),
        command="reap compare -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "a share that could be anything",
        "inconclusive",
        "unclear_share",
        share_of(0.1, 0.1, 30),
        (jemalloc(1.0),),
        says=("0.0 to 20.0 %",),
    ),
    Situation(
        "a share that could be anything, never compared",
        "inconclusive",
        "not_compared",
        share_of(0.1, 0.1, 30),
        says=("too few to say",),
    ),
    Situation(
        "no samples",
        "leave it alone",
        "no_gain",
        share_of(0, 0, 0),
        (jemalloc(1.0),),
        says=("was not measured",),
    ),
    Situation(
        "many allocations, small share",
        "leave it alone",
        "small_share",
        SMALL,
        (jemalloc(1.0),),
        profile={"objects": 900_000_000},
        says=("900 M allocations",),
    ),
    Situation("not one allocation", "leave it alone", "no_allocations", profile={"objects": 0}),
    Situation(
        "too short to measure",
        "inconclusive",
        "too_short",
        sides=(jemalloc(1.3, cpu_seconds=0.004),),
        says=("4.00 ms of CPU time",),
    ),
    Situation(
        "not found", "inconclusive", "program_failed", sides=(jemalloc(0.5),), comparison={"exit_code": 127}
    ),
    Situation(
        "killed",
        "inconclusive",
        "program_failed",
        sides=(jemalloc(0.5),),
        comparison={"exit_code": 139},
        says=("SIGSEGV",),
    ),
    Situation(
        "a status of its own",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8),),
        comparison={"exit_code": 1},
    ),
    Situation(
        "compared only, no gain",
        "leave it alone",
        "no_gain",
        sides=(jemalloc(1.0),),
        profile=NO_PROFILE,
        says=("and not of allocating less",),
        command="reap run -- perl words.pl 'it'\"'\"'s here.txt'",
    ),
    Situation(
        "compared only, a gain",
        "switch the allocator",
        "switch_for_time",
        sides=(jemalloc(0.8),),
        profile=NO_PROFILE,
    ),
    Situation("nothing at all", "inconclusive", "nothing_measured", profile=NO_PROFILE),
    Situation(
        "nothing usable",
        "inconclusive",
        "nothing_measured",
        profile=NO_PROFILE,
        sides=(jemalloc(0.5, problem="It is no allocator."),),
        says=("It is no allocator",),
    ),
]


def records(case: Situation) -> tuple[Profile | None, Comparison | None]:
    profile = None if case.profile is NO_PROFILE else profile_of(share=case.share, **(case.profile or {}))
    changes = dict(case.comparison or {})
    noise = changes.pop("noise", 0.006)
    comparison = None if case.sides is None else comparison_of(case.sides, noise, **changes)
    return profile, comparison


@pytest.mark.parametrize("case", SITUATIONS, ids=lambda case: case.name)
def test_situation(case: Situation) -> None:
    profile, comparison = records(case)
    facts = rules.Facts(profile, comparison, COMMAND)
    assert next(rule.name for rule in rules.RULES if rule.applies(facts)) == case.rule
    verdict = diagnose(profile, comparison, command=COMMAND)
    assert verdict.headline == case.headline
    said = f"{verdict.paragraph} {verdict.next_step}"
    for text in case.says:
        assert text in said
    if case.command is not None:
        assert verdict.next_command == case.command


def test_every_rule_is_met_by_some_situation() -> None:
    assert {rule.name for rule in rules.RULES} == {case.rule for case in SITUATIONS}


def test_the_first_rule_that_always_applies_is_the_last() -> None:
    facts = rules.Facts(None, None, [])
    assert [rule.name for rule in rules.RULES if rule.applies(facts)] == [rules.RULES[-1].name]


@pytest.mark.parametrize("answer", three_answers().answers, ids=lambda answer: answer.title)
def test_every_allocator_and_the_sampling_are_in_the_evidence(answer: Any) -> None:
    verdict = diagnose(answer.profile, answer.comparison, command=answer.command)
    told = " ".join(fact.statement for fact in verdict.evidence)
    assert all(side.allocator in told for side in answer.comparison.sides)
    assert "against itself" in told
    assert {fact.source for fact in verdict.evidence} == {"sampling", "comparison", "recording"}


def test_a_collector_is_told_of_where_it_takes_much() -> None:
    answer = three_answers().answers[0]
    assert answer.comparison is not None

    def said(part: float) -> str:
        seconds = part * answer.comparison.sides[0].ratios["cpu"].baseline
        heard = [Collector(kind="cpython", count=7, pause_seconds=seconds, cpu_seconds=seconds)]
        return diagnose(
            answer.profile, answer.comparison, command=answer.command, collections=heard
        ).paragraph

    assert "CPython's collector of cycles ran 7 times and took 50 % of CPU time." in said(0.5)
    assert "collector" not in said(0.01)


def test_rounds_needed_grows_with_the_noise() -> None:
    needed = [judge.rounds_needed(jemalloc(0.95, half)) for half in (0.02, 0.06, 0.1, 0.5)]
    assert needed.pop() is None
    assert needed == sorted(needed, key=lambda rounds: rounds or 0)
    assert needed[1] != needed[2]


def test_a_preload_that_cannot_be_named_gives_no_command() -> None:
    for provider in ("", "libjemalloc.so.2", "/opt/my libs/je.so", "/opt/a:b.so"):
        assert commands.switched(jemalloc(0.9, provider=provider), ["true"]) == ""


def test_an_allocator_of_ones_own_keeps_its_path_in_the_command() -> None:
    mine = side_of("mine", 0.96, 0.06, provider="/opt/mine.so")
    assert "--allocators mine=/opt/mine.so,jemalloc" in commands.compare(["true"], [mine, jemalloc()])


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
    verdict = diagnose(profile, comparison, command=command)
    assert verdict.paragraph
    assert verdict.next_step
    assert verdict == diagnose(profile, comparison, command=command)


@ANY
@given(st.one_of(st.none(), profiles()), comparisons())
def test_only_a_trusted_and_proven_allocator_is_recommended(profile: Any, comparison: Any) -> None:
    verdict = diagnose(profile, comparison, command=["true"])
    facts = rules.Facts(profile, comparison, ["true"])
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
    verdict = diagnose(None, msgspec.structs.replace(comparison, sides=spoiled), command=["true"])
    assert verdict.headline != "switch the allocator"
