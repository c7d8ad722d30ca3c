"""A comparison on a terminal: what a ratio says, the noise beside it, and what is wrong with it."""

from answers import fields_of
from samples import comparison_of, marked, msg_replace, ratio_of, side_of, three_answers
from terminals import flat, printed

from reap.base import units
from reap.base.records import Estimate
from reap.compare import words
from reap.compare.phrases import interval, noise
from reap.compare.terminal import render
from reap.compare.view import view
from reap.compare.words import REQUESTS

perl, gcc, _ = map(fields_of, three_answers().answers)


def test_requests_have_tables_of_their_own_and_more_of_them_is_better() -> None:
    shown = flat(printed(render, marked(perl.comparison), 100))
    assert "P99 request time" in shown
    assert "1.250 more" in shown
    assert REQUESTS in shown
    assert REQUESTS not in flat(printed(render, perl.comparison, 100))


def test_comparison_says_what_a_ratio_means_and_shows_the_noise() -> None:
    shown = flat(printed(render, perl.comparison))
    assert "below 1 is less (better)" in shown
    assert "(noise) 1.001 0.999 1.000" in shown
    assert "jemalloc 0.931 less" in shown
    assert "[0.922, 0.940]" in shown
    assert "200 MiB" in shown


def test_tables_and_sentences_have_the_same_amount() -> None:
    """The median of an allocator's runs may be 1.87 s where its paired runs say 1.80 s."""
    ratio = msg_replace(ratio_of("cpu", 0.9, baseline=2.0), value=1.87)
    held = comparison_of([side_of("fast", ratios={"cpu": ratio})])
    page = view(held).rows[0].cells[0]
    assert page is not None
    for shown in (flat(printed(render, held)), page.amounts, *words.verdict(held)):
        assert "1.80 s" in shown
        assert "1.87 s" not in shown
    assert page.amounts == "1.80 s instead of 2.00 s"


def test_comparison_does_not_hide_what_is_wrong() -> None:
    shown = flat(printed(render, gcc.comparison))
    assert "tcmalloc: NOT VERIFIED" in shown
    assert "cc1 is linked so that it cannot be replaced" in shown
    assert "stopped early" in shown
    assert "tcmalloc (!)" in shown
    assert "(!) marks doubtful figures" in shown
    assert "(!)" not in printed(render, perl.comparison)
    assert "output varies by itself" not in shown
    bad = comparison_of(
        [side_of("x", 0.9, same_output=False, same_exit=False)], exit_code=3, notes=["A note."]
    )
    shown = flat(printed(render, bad))
    assert "OTHER EXIT STATUS, OTHER OUTPUT" in shown
    assert "ended with status 3" in shown
    assert "! A note." in shown


def test_an_interval_that_holds_1_cannot_tell() -> None:
    shown = printed(render, comparison_of([side_of("x", 1.0, ratios={"cpu": ratio_of("cpu", 1.0)})]))
    assert "1.000 [0.990, 1.010] inconclusive" in flat(shown.replace(" - ", ""))


def test_the_outcome_comes_first() -> None:
    cpu = msg_replace(ratio_of("cpu", 1.0, 0.005), verdict="equivalent")
    equal = side_of("even", ratios={"cpu": cpu})
    wide = side_of("wide", 0.98, 0.1)
    slow = side_of("slow", 1.1)
    fast = side_of("fast", 0.9)
    less = side_of("less", 0.98, 0.008)
    few = side_of("few", 0.9, rounds=4)
    other = side_of("other", 0.9, same_output=False)
    said = words.verdict(comparison_of([equal, wide, slow, fast, less, few, other]))
    assert [each.rpartition(": ")[2] for each in said[:3]] == [
        "equivalent to glibc within 3.0 %.",
        "inconclusive.",
        "slower.",
    ]
    assert said[3].startswith("fast takes 10.0 % less CPU time, 1.80 s instead of 2.00 s (95 % CI ")
    assert "): faster. " in said[3]
    assert "memory" in said[3]
    assert said[4].endswith(": no gain worth having.")
    assert said[5].endswith(": inconclusive, 4 rounds cannot decide it.")
    assert said[6] == "other: no result: verified, OTHER OUTPUT."
    shown = flat(printed(render, comparison_of([fast])))
    assert shown.index(": faster.") < shown.index("allocator CPU time")


def test_a_metric_of_which_nothing_happened_is_not_shown() -> None:
    side = side_of("x", 0.9)
    side.ratios["major_faults"] = msg_replace(ratio_of("major_faults", 1.0), value=0.0, baseline=0.0)
    assert "major" not in printed(render, comparison_of([side]))
    side.ratios["major_faults"] = msg_replace(ratio_of("major_faults", 1.0), value=1.0, baseline=0.0)
    assert "major" in printed(render, comparison_of([side]))


def test_an_unknown_metric_is_shown_too() -> None:
    side = side_of("x", 0.9)
    side.ratios["tlb_misses"] = ratio_of("tlb_misses", 0.5)
    assert "tlb misses" in flat(printed(render, comparison_of([side])))


def test_an_interval_of_two_rounds_is_too_few_rounds():
    absurd = Estimate(value=0.98, low=1e-7, high=1_732_136)
    assert interval(absurd) == "unknown: too few rounds"
    assert units.ratio_with_interval(absurd) == "0.980 [too few rounds]"
    assert interval(Estimate(value=0.9, low=0.85, high=0.95)) == "5.0 to 15.0 % less"
    comparison = comparison_of([side_of("jemalloc", 1.0, rounds=2)])
    wide = msg_replace(comparison, noise={"cpu": msg_replace(comparison.noise["cpu"], ratio=absurd)})
    assert "too few rounds" in noise(wide)
    assert "[too few rounds]" in " ".join(printed(render, wide).split())
