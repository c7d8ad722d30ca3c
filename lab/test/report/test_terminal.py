"""Results on a terminal: complete at 80 columns, plain in a pipe, harmless whatever the names are."""

import io
import math
import re
from pathlib import Path

import pytest
from any_records import ANY, comparisons, profiles
from hypothesis import given
from rich.console import Console
from samples import (
    answer_of,
    comparison_of,
    hostile_report,
    machine,
    marked,
    msg_replace,
    profile_of,
    ratio_of,
    report_of,
    requests_of,
    side_of,
    three_answers,
)

from reap.base import text, units
from reap.base.records import Estimate, exactly
from reap.compare.phrases import interval, noise
from reap.recording.records import Point, Share
from reap.report import wording
from reap.report.terminal import (
    render_answer,
    render_comparison,
    render_diagnosis,
    render_overview,
    render_profile,
)


def printed(draw, held, width: int = 80, **options) -> str:
    out = io.StringIO()
    draw(Console(file=out, width=width, **options), held)
    return out.getvalue()


def flat(shown: str) -> str:
    """Without the breaks that a width makes."""
    return re.sub(r"\s+", " ", shown)


PERL, GCC, SED = three_answers().answers


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("answer", [PERL, GCC, SED], ids=["perl", "gcc", "sed"])
def test_no_line_is_wider_than_the_terminal_but_commands(answer, width: int) -> None:
    commands = {answer.diagnosis.next_command, " ".join(answer.command)}
    for line in printed(render_answer, answer, width).splitlines():
        assert len(line.rstrip()) <= width or line.strip() in commands


def test_a_pipe_gets_no_colour_and_a_terminal_does() -> None:
    assert "\x1b" not in printed(render_answer, PERL)
    assert "\x1b[" in printed(render_answer, PERL, force_terminal=True, color_system="standard")


def test_the_verdict_comes_first_and_its_command_can_be_pasted() -> None:
    shown = printed(render_answer, PERL)
    assert shown.index("Verdict: switch the allocator") < shown.index("Allocators,") < shown.index("Totals")
    assert f"\n  {PERL.diagnosis.next_command}\n" in shown
    assert PERL.diagnosis.paragraph in flat(shown)


def test_a_long_command_is_not_broken() -> None:
    words = ["./a", *(f"argument-{i}" for i in range(40))]
    verdict = answer_of("a", profile_of(command=words), None).diagnosis
    assert verdict.next_command in printed(render_diagnosis, verdict)


def test_profile_has_table_3() -> None:
    shown = flat(printed(render_profile, PERL.profile, 100))
    for words in (
        "Total objects 4 812 331",
        "Most in use at once ~344 k (333 k to 354 k)",
        "Average size 62.1 B",
        "Total bytes 285 MiB",
        "Most bytes in use ~30.3 MiB (29.7 MiB to 30.9 MiB)",
        "Total / most 9.40",
        "Time executing in the allocator (sampled) 12.4 % (95 % interval 11.4 to 13.4 %;",
        "perf events",
        "Allocations per second 1.92 M",
        "17 to 32 B",
        "under 1.00 µs",
        "never freed",
        "resident",
        "live",
        "Perl_newSV",
        "sv.c:5721",
        "free 4 667 961",
        "p99.9",
        "4.21 µs",
    ):
        assert words in shown


def test_requests_have_their_figures_over_all_and_by_phase() -> None:
    shown = flat(printed(render_profile, msg_replace(PERL.profile, requests=requests_of("warm-up", "")), 100))
    assert "Per request as the program marks them" in shown
    assert "allocations 2 000 30.25 28 64 97" in shown
    assert "warm-up: bytes 1 000 2.00 KiB 1.95 KiB 4.00 KiB 9.76 KiB" in shown
    assert "(no phase yet): allocations" in shown
    assert "Per request" not in printed(render_profile, PERL.profile)


def test_requests_have_tables_of_their_own_and_more_of_them_is_better() -> None:
    shown = flat(printed(render_comparison, marked(PERL.comparison), 100))
    assert "P99 of a request" in shown
    assert "1.250 more" in shown
    assert wording.REQUESTS in shown
    assert wording.REQUESTS not in flat(printed(render_comparison, PERL.comparison, 100))


def test_one_sample_is_one() -> None:
    assert [units.samples(n) for n in (0, 1, 1234)] == ["0 samples", "1 sample", "1 234 samples"]


def test_counted_values_are_not_marked_as_estimates() -> None:
    shown = printed(render_profile, profile_of(depth="full"))
    assert "~" not in shown
    assert "every event" in shown


def test_processes_are_listed_when_there_are_several() -> None:
    assert "Processes" not in printed(render_profile, PERL.profile)
    shown = printed(render_profile, GCC.profile)
    assert "collect2" in shown
    assert "not recorded (static)" in shown
    assert "! 1 process ended" in shown


def test_a_profile_without_a_share_says_so() -> None:
    assert "not sampled" in printed(render_profile, msg_replace(PERL.profile, share=None))
    held = Share(method="timer", samples=1234, inside=0, kernel_inside=0, share=exactly(0), sees_kernel=False)
    assert "1 234 samples by a timer, time in the kernel not seen" in flat(
        printed(render_profile, msg_replace(PERL.profile, share=held), 160)
    )


def test_an_empty_profile_is_drawn() -> None:
    bare = profile_of(
        objects=0, sites=0, points=0, sizes=[], lifetimes=[], calls={}, latencies=[], processes=[]
    )
    assert "Total objects" in printed(render_profile, msg_replace(bare, seconds=0.0))


def test_comparison_says_what_a_ratio_means_and_shows_the_noise() -> None:
    shown = flat(printed(render_comparison, PERL.comparison))
    assert "below 1 is less of it (better)" in shown
    assert "(noise) 1.001 0.999 1.000" in shown
    assert "jemalloc 0.931 less" in shown
    assert "[0.922, 0.940]" in shown
    assert "200 MiB" in shown


def test_comparison_does_not_hide_what_is_wrong() -> None:
    shown = flat(printed(render_comparison, GCC.comparison))
    assert "tcmalloc: NOT VERIFIED" in shown
    assert "cc1 is linked so that it cannot be replaced" in shown
    assert "stopped early" in shown
    assert "tcmalloc (!)" in shown
    assert "(!) marks figures" in shown
    assert "(!)" not in printed(render_comparison, PERL.comparison)
    assert "output varies by itself" not in shown
    bad = comparison_of(
        [side_of("x", 0.9, same_output=False, same_exit=False)], exit_code=3, notes=["A note."]
    )
    shown = flat(printed(render_comparison, bad))
    assert "OTHER EXIT STATUS, OTHER OUTPUT" in shown
    assert "ended with status 3" in shown
    assert "! A note." in shown


def test_an_interval_that_holds_1_cannot_tell() -> None:
    shown = printed(
        render_comparison, comparison_of([side_of("x", 1.0, ratios={"cpu": ratio_of("cpu", 1.0)})])
    )
    assert "1.000 [0.990, 1.010] inconclusive" in flat(shown.replace(" - ", ""))


def test_an_unknown_metric_is_shown_too() -> None:
    side = side_of("x", 0.9)
    side.ratios["tlb_misses"] = ratio_of("tlb_misses", 0.5)
    assert "tlb misses" in flat(printed(render_comparison, comparison_of([side])))


def test_hostile_names_cannot_reach_the_terminal() -> None:
    for answer in hostile_report().answers:
        shown = printed(render_answer, answer, force_terminal=True, color_system=None)
        assert "\x1b[31m" not in shown
        assert "\\x1b[31m" in shown
        assert "\u2028" not in shown


@pytest.mark.parametrize("name", ["\x1b]0;x\x07", "\u202eabc", "a\rb", "a\x00b", "\ud800"])
def test_printable(name: str) -> None:
    shown = text.printable(name)
    assert "\\" in shown
    assert text.printable(shown) == shown
    shown.encode()


def test_bar_and_sparkline() -> None:
    assert text.bar(0, 4) == ""
    assert text.bar(1e-9, 4) == "▏"
    assert text.bar(0.5, 4) == "██"
    assert text.bar(7, 4) == "████"
    assert text.sparkline([0, 1, 2], 2) == "▁▅█"
    assert text.sparkline([0, 0], 0) == "▁▁"
    assert text.resample([(0, 1), (0.1, 5), (9.9, 2)], 3, 10) == [5, 5, 2]
    assert text.resample([], 2, 0) == [0, 0]
    assert text.shortened("abcdefghij", 7) == "abc…hij"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.size(0), "0 B"),
        (units.size(1023), "1.00 KiB"),
        (units.size(999), "999 B"),
        (units.size(-2048), "-2.00 KiB"),
        (units.size(1536), "1.50 KiB"),
        (units.size(2**80), "1073741824 PiB"),
        (units.size(math.nan), "-"),
        (units.size(62.08), "62.1 B"),
        (units.count(9999), "9 999"),
        (units.count(10_000), "10.0 k"),
        (units.count(999_999), "1.00 M"),
        (units.count(1e18), "1000000 T"),
        (units.count(math.inf), "-"),
        (units.whole(1234567), "1 234 567"),
        (units.duration(0), "0 s"),
        (units.duration(1.2), "1.20 s"),
        (units.duration(0.035), "35.0 ms"),
        (units.duration(2e-9), "2.00 ns"),
        (units.duration(4.2e-6), "4.20 µs"),
        (units.duration(725), "12 min 5 s"),
        (units.duration(-1), "-1.00 s"),
        (units.percent(0), "0 %"),
        (units.percent(0.0001), "< 0.1 %"),
        (units.percent(0.124), "12.4 %"),
        (units.percent(0.62), "62 %"),
        (units.percent(1), "100 %"),
        (units.percent(math.nan), "-"),
        (units.ratio(0.9314), "0.931"),
        (units.ratio(2.5), "2.50"),
        (units.ratio(1234), "1234"),
        (units.change(0.9), "10.0 % less"),
        (units.change(1.4), "40 % more"),
        (units.change(3), "3.00 times"),
        (units.change(1.0001), "the same"),
        (units.in_unit(2048, "bytes"), "2.00 KiB"),
        (units.in_unit(2, "s"), "2.00 s"),
        (units.in_unit(2, "count"), "2"),
        (units.ratio_with_interval(Estimate(value=0.9, low=0.88, high=0.93)), "0.900 [0.880, 0.930]"),
    ],
)
def test_units(shown: str, expected: str) -> None:
    assert shown == expected


def test_one_point_in_time() -> None:
    held = [Point(seconds=0.0, bytes=5.0)]
    assert "live" in printed(render_profile, profile_of(live=held, resident=held, rates=held, seconds=0.0))


def test_the_machine_of_the_samples_is_a_machine() -> None:
    assert machine().cores


def test_overview_has_a_line_for_each_program() -> None:
    shown = flat(printed(render_overview, three_answers()))
    assert "perl switch the allocator 12.4 % 0.902 [0.891, 0.913] mimalloc" in shown
    assert "sed leave it alone 1.1 %" in shown
    assert "-" in printed(render_overview, report_of(answer_of("x", None, None)))


@ANY
@given(profiles(), comparisons())
def test_any_records_are_drawn(profile, comparison) -> None:
    assert printed(render_answer, answer_of("any", profile, comparison))


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 rounds"), (1, "1 round"), (2, "2 rounds"), (1.5e6, "1.50 M rounds")]
)
def test_one_round_is_one_round(count, words):
    assert units.number(count, "round") == words


def test_an_interval_of_two_rounds_is_too_few_rounds():
    absurd = Estimate(value=0.98, low=1e-7, high=1_732_136)
    assert interval(absurd) == "unknown: too few rounds"
    assert units.ratio_with_interval(absurd) == "0.980 [too few rounds]"
    assert interval(Estimate(value=0.9, low=0.85, high=0.95)) == "5.0 to 15.0 % less"
    comparison = comparison_of([side_of("jemalloc", 1.0, rounds=2)])
    wide = msg_replace(comparison, noise={"cpu": msg_replace(comparison.noise["cpu"], ratio=absurd)})
    assert "too few rounds" in noise(wide)
    assert "[too few rounds]" in " ".join(printed(render_comparison, wide).split())


def test_no_words_can_say_1_rounds():
    counted = re.compile(r"\{(?:[a-z_.]*\.)?(?:rounds|runs|len\([^()]*\))\} (?:rounds|runs)\b")
    for file in Path(units.__file__).parent.rglob("*.py"):
        assert not counted.search(file.read_text()), f"{file}: by units.number()"
