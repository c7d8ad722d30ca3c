"""The verdict on a program on fragmented heaps: what it says when, and how it is printed."""

import io
import re

import msgspec
import pytest
from answers import fields_of
from fragmented_samples import arm_of, fragmented_answer, fragmented_of
from rich.console import Console
from samples import HOSTILE, ratio_of

from reap.base.records import Estimate
from reap.compare.levels import analyse
from reap.compare.levels.judge import inverse, judge
from reap.compare.levels.records import Control, LayoutBias
from reap.compare.levels.terminal import render_tables, render_verdict
from reap.compare.terminal import SCREEN
from reap.experiment import statistics
from reap.launch.litter.level import LEVELS, custom


def with_arm(result, arm):
    """The result with one arm in place of its namesake."""
    key = (arm.variant, arm.allocator, arm.level)
    others = [each for each in result.arms if (each.variant, each.allocator, each.level) != key]
    return msgspec.structs.replace(result, arms=[*others, arm])


def slowed(by: float, half: float = 0.01, **changes):
    """A program of one variant that takes so many times as long at adv3."""
    result = fragmented_of(["default"], ["glibc"])
    ratios = {"cpu": ratio_of("cpu", by, half)}
    return with_arm(result, arm_of("default", "glibc", "adv3", slowdown=ratios, **changes))


@pytest.mark.parametrize(
    ("by", "half", "headline"),
    [
        (1.5, 0.1, "it would be slower"),
        (1.03, 0.01, "it would be slower"),
        (1.02, 0.01, "it would hardly be slower"),
        (1.0, 0.04, "it would hardly be slower"),
        (0.9, 0.02, "it would hardly be slower"),
        (1.02, 0.1, "inconclusive"),
        (1.5, 0.6, "inconclusive"),
    ],
)
def test_the_headline_follows_the_interval(by, half, headline):
    assert judge(slowed(by, half)).headline == headline


@pytest.mark.parametrize(
    ("by", "half", "headline"),
    [
        (1.5, 0.1, "its own allocator saves time"),
        (1.02, 0.01, "its own allocator saves no time"),
        (0.8, 0.02, "its own allocator saves no time"),
        (1.2, 0.3, "inconclusive"),
    ],
)
def test_on_clean_heaps_alone_the_verdict_is_of_its_own_allocator(by, half, headline):
    naive = arm_of("naive", "glibc", "adv0", to_custom={"cpu": ratio_of("cpu", by, half)})
    result = with_arm(fragmented_of(levels=["adv0"]), naive)
    verdict = judge(result)
    assert verdict.headline == headline
    assert "Without its own allocator, over glibc, it takes" in verdict.paragraph
    shown = io.StringIO()
    render_tables(Console(file=shown, width=100), result, verdict)
    assert "Controls: these should show no difference" not in shown.getvalue()
    assert "Slower by level" not in shown.getvalue()


def test_noise_of_that_size_is_no_saving():
    naive = arm_of("naive", "glibc", "adv0", to_custom={"cpu": ratio_of("cpu", 1.1, 0.05)})
    noisy = fragmented_of(levels=["adv0"], noise={"cpu": ratio_of("cpu", 1.0, 0.3)})
    assert judge(with_arm(noisy, naive)).headline == "inconclusive"


def test_a_saving_over_both_runs_of_the_baseline_is_one():
    """Where the baseline's first run is as noisy as its second, the second is not counted twice."""

    def paired(pairs: list[float]):
        return msgspec.structs.replace(ratio_of("cpu", 1.0), ratio=statistics.typical(pairs), pairs=pairs)

    first_runs = [0.97, 1.03] * 8
    saved, noise = paired([1.032 * each for each in first_runs]), paired(first_runs)
    assert 1 < saved.ratio.low < noise.ratio.high
    naive = arm_of("naive", "glibc", "adv0", to_custom={"cpu": saved})
    result = with_arm(fragmented_of(levels=["adv0"], noise={"cpu": noise}), naive)
    assert judge(result).headline == "its own allocator saves time"


def test_few_rounds_tell_nothing():
    verdict = judge(slowed(2.0, rounds=3))
    assert verdict.headline == "inconclusive"
    assert "3 rounds were run, too few for a verdict" in verdict.paragraph


def test_the_paragraph_says_what_it_costs_and_what_takes_it_back():
    said = judge(fragmented_of()).paragraph
    assert "adv3: 300 k objects of the program's sizes were allocated and 34 % of them were freed" in said
    assert "the program, its own allocator in use, would need 4.4 % more CPU time" in said
    assert "Without its own allocator it would need 3.20 times the CPU time" in said
    own, other = said.index("less CPU time with its own allocator"), said.index("less CPU time with jemalloc")
    assert own < other, "the most first"


def test_a_remedy_that_is_not_proven_is_none():
    result = fragmented_of()
    arm = arm_of("naive", "jemalloc", "adv3", to_allocator={"cpu": ratio_of("cpu", 0.95, 0.1)})
    said = judge(with_arm(result, arm)).paragraph
    assert "less CPU time with jemalloc" not in said
    assert "The result is inconclusive for jemalloc." in said
    arm = arm_of("naive", "jemalloc", "adv3", to_allocator={"cpu": ratio_of("cpu", 1.2, 0.1)})
    assert "jemalloc" not in judge(with_arm(result, arm)).paragraph


def test_a_remedy_that_is_proven_to_change_nothing_is_not_inconclusive():
    arm = arm_of("naive", "jemalloc", "adv3", to_allocator={"cpu": ratio_of("cpu", 1.005, 0.01)})
    said = judge(with_arm(fragmented_of(), arm)).paragraph
    assert "There CPU time with jemalloc is the same within 3.0 %." in said
    assert "inconclusive" not in said


@pytest.mark.parametrize(
    ("value", "half", "verdict", "decided"),
    [
        (1.2, 0.05, "worse", True),
        (1.02, 0.01, "worse", True),
        (1.025, 0.024, "worse", True),
        (1.028, 0.027, "worse", False),
        (1.0, 0.02, "equivalent", True),
        (0.9, 0.02, "better", True),
        (1.02, 0.1, "inconclusive", False),
    ],
)
def test_rounds_go_on_until_the_verdict_is_clear(value, half, verdict, decided):
    ratio = msgspec.structs.replace(ratio_of("cpu", value, half), verdict=verdict)
    half_of_it = {"cpu": ratio_of("cpu", 0.5)}
    kinds = ("normalised", "slowdown", "to_custom", "to_best", "to_small", "to_allocator")
    clear = [
        msgspec.structs.replace(each, **dict.fromkeys(kinds, half_of_it))
        for each in fragmented_of(["default"], ["glibc"]).arms
    ]
    result = msgspec.structs.replace(fragmented_of(["default"], ["glibc"]), arms=clear)
    assert analyse.decided(result)
    arm = msgspec.structs.replace(clear[-1], slowdown={"cpu": ratio})
    assert analyse.decided(with_arm(result, arm)) == decided


def test_huge_pages_are_a_remedy():
    result = fragmented_of(huge_pages=["", "on"])
    huge = arm_of("naive", "glibc", "adv3", huge_pages="on", to_small={"cpu": ratio_of("cpu", 0.7)})
    said = judge(msgspec.structs.replace(result, arms=[*result.arms, huge])).paragraph
    assert "30 % less CPU time with huge pages" in said
    shown = printed(msgspec.structs.replace(result, arms=[*result.arms, huge]), 120)
    assert "naive glibc, huge pages" in shown
    assert "each as a ratio to itself without" in shown


def test_without_adv3_the_last_level_is_judged():
    assert judge(fragmented_of(levels=["adv0", "adv1"])).level == "adv1"
    assert judge(fragmented_of()).level == "adv3"


def test_a_program_that_fails_there_is_not_judged():
    result = with_arm(fragmented_of(), arm_of("custom", "glibc", "adv3", problem="it died"))
    verdict = judge(result)
    assert verdict.headline == "inconclusive"
    assert "it died" in verdict.paragraph


def controlled(preload: float, layouts: list[float]):
    result = fragmented_of(["default"], ["glibc"])
    control = Control(
        variant="default",
        allocator="glibc",
        preload=ratio_of("cpu", preload),
        emptied=ratio_of("cpu", 1.0),
    )
    bias = LayoutBias(variant="default", level="none", ratios=[ratio_of("cpu", each) for each in layouts])
    return msgspec.structs.replace(result, controls=[control], layout_bias=[bias])


def test_a_preload_that_makes_a_difference_is_said_before_anything_else():
    assert judge(controlled(1.0, [1.0])).first == []
    (said,) = judge(controlled(1.1, [0.9, 1.2])).first
    assert "Bare and adv0 differ" in said
    assert "10.0 % more CPU time" in said
    assert "it is layout bias" in said
    (said,) = judge(controlled(1.1, [0.99, 1.01])).first
    assert "layout bias alone does not explain it" in said
    assert "not tested" in judge(controlled(1.1, [])).first[0]
    noisy = msgspec.structs.replace(controlled(1.1, [1.0]), noise={"cpu": ratio_of("cpu", 0.95, 0.08)})
    assert "The baseline may differ from itself by as much" in judge(noisy).first[0]
    shown = printed(controlled(1.1, []), tables=False)
    assert shown.startswith("! Bare and adv0 differ")


def test_a_heap_that_does_not_recover_is_said():
    result = controlled(1.0, [1.0])
    emptied = msgspec.structs.replace(result.controls[0], emptied=ratio_of("cpu", 1.2))
    (said,) = judge(msgspec.structs.replace(result, controls=[emptied])).first
    assert "all litter was freed differs from a clean one" in said
    assert "20 % more CPU time" in said
    better = msgspec.structs.replace(result.controls[0], emptied=ratio_of("cpu", 0.9))
    verdict = judge(msgspec.structs.replace(result, controls=[better]))
    assert verdict.first == [], "not what spoils a figure"
    assert any("fragmentation costs more than" in fact.statement for fact in verdict.evidence)


def test_what_a_level_costs_is_told_apart():
    statements = [fact.statement for fact in judge(fragmented_of()).evidence if fact.source == "sampling"]
    assert len(statements) == 2
    assert "1.23 s more inside it and 4.93 s more outside" in statements[1]


def test_a_program_that_leaves_the_work_to_another_has_no_verdict():
    found = judge(fragmented_of(elsewhere="/usr/bin/worker"))
    assert found.headline == "inconclusive"
    assert "/usr/bin/worker" in found.first[0]
    assert "children=yes" in found.first[0]
    assert (
        found.paragraph
        == "/usr/bin/worker, which allocates most, ran on a clean heap: add --litter children=yes."
    )


def test_misses_are_told_beside_their_instructions():
    (said,) = (
        fact.statement for fact in judge(fragmented_of(["default"])).evidence if fact.source == "simulation"
    )
    assert "1.044 times the misses of the first level and 1.090 times those of the last at adv3" in said
    assert "by 1.000 times the instructions" in said
    shown = printed(fragmented_of(["default"]), 120)
    assert "10.4 M (1.044)" in shown
    none = [msgspec.structs.replace(arm, misses=None) for arm in fragmented_of().arms]
    assert "simulated" not in printed(fragmented_of(arms=none))


def test_a_ratio_the_other_way_round():
    assert inverse(Estimate(value=2, low=1.6, high=2.5)) == Estimate(value=0.5, low=0.4, high=0.625)


def printed(result, width: int = 80, *, tables: bool = True) -> str:
    out = io.StringIO()
    console, verdict = Console(file=out, width=width), judge(result)
    if tables:
        render_tables(console, result, verdict)
    render_verdict(console, result, verdict)
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width):
    shown = printed(fragmented_of(), width)
    assert all(len(line.rstrip()) <= width for line in shown.splitlines())
    assert "\x1b" not in shown


def test_the_verdict_fits_on_a_screen():
    noted = fragmented_of(notes=[f"note {number} {'of some words ' * 9}" for number in range(9)])
    shown = printed(noted, tables=False).splitlines()
    assert len(shown) <= SCREEN
    assert shown[-1].rstrip().endswith("notes: --details")


def test_the_tables_have_every_arm():
    shown = re.sub(r"\s+", " ", printed(fragmented_of(), 120))
    for words in ("naive glibc 1.400 more", "2.10 more 3.20 more 4.40 more", "(noise)", "adv10"):
        assert words in shown, words
    alone = printed(fragmented_of(["default"]), 120)
    assert "naive" not in alone
    assert "default" not in alone


def test_many_levels_go_into_several_tables():
    levels = [LEVELS["adv0"], *(custom(10, part / 10) for part in range(1, 8))]
    arms = [msgspec.structs.replace(arm_of("default", "glibc", "adv1"), level=level.name) for level in levels]
    shown = printed(fragmented_of(["default"], ["glibc"], levels=["adv0"], arms=arms))
    shown = printed(msgspec.structs.replace(fragmented_of(["default"], ["glibc"]), levels=levels, arms=arms))
    assert "10x0.7" in shown
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())


def test_names_are_harmless():
    bad = HOSTILE + "\x1b[31m"
    result = fragmented_of(
        ["default"],
        [bad],
        notes=[bad],
        arms=[arm_of("default", bad, level, problem=bad if level == "adv1" else "") for level in LEVELS],
    )
    assert "\x1b" not in printed(result)
    assert fields_of(fragmented_answer(result)).fragmented_verdict is not None
