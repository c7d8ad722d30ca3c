"""A comparison on a terminal: what a ratio says, the noise beside it, and what is wrong with it."""

from answers import fields_of
from samples import comparison_of, marked, msg_replace, ratio_of, side_of, three_answers
from terminals import flat, printed

from reap.base import units
from reap.base.records import Estimate
from reap.compare.phrases import interval, noise
from reap.compare.terminal import render
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


def test_comparison_does_not_hide_what_is_wrong() -> None:
    shown = flat(printed(render, gcc.comparison))
    assert "tcmalloc: NOT VERIFIED" in shown
    assert "cc1 is linked so that it cannot be replaced" in shown
    assert "stopped early" in shown
    assert "tcmalloc (!)" in shown
    assert "(!) marks figures" in shown
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
