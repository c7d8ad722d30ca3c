"""Figures in their units, and text for a terminal."""

import json
import math
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from reap.base import text, units
from reap.base.records import Estimate


def test_one_sample_is_one() -> None:
    assert [units.samples(n) for n in (0, 1, 1234)] == ["0 samples", "1 sample", "1 234 samples"]


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


def test_the_name_that_was_meant() -> None:
    assert text.did_you_mean("jemaloc", ["glibc", "jemalloc", "mimalloc"]) == "did you mean jemalloc? "
    assert text.did_you_mean("GLIBC", ["glibc"]) == "did you mean glibc? "
    assert text.did_you_mean("nosuch", ["glibc", "jemalloc"]) == ""


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


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 rounds"), (1, "1 round"), (2, "2 rounds"), (1.5e6, "1.50 M rounds")]
)
def test_one_round_is_one_round(count, words):
    assert units.number(count, "round") == words


def test_no_words_can_say_1_rounds():
    counted = re.compile(r"\{(?:[a-z_.]*\.)?(?:rounds|runs|len\([^()]*\))\} (?:rounds|runs)\b")
    for file in Path(units.__file__).parents[1].rglob("*.py"):
        assert not counted.search(file.read_text()), f"{file}: by units.number()"


def test_means_times_and_numbers_of_things() -> None:
    assert [units.mean(each) for each in (2.5, 3, 12345)] == ["2.50", "3", "12.3 k"]
    assert [units.about(each) for each in (0.2, 45, 200, 27e3)] == ["a second", "45 s", "3 min", "7.5 h"]
    assert [units.more_or_less(each) for each in (1.2, -0.035)] == ["1.20 s more", "35.0 ms less"]
    assert [units.many(1, "thread"), units.many(1234, "process", "es")] == ["1 thread", "1 234 processes"]


SHARED = {
    "bytes": (units.size, [0, 1, 999, 1023, 1536, 62.08, -2048, 5e9, 2.0**80, math.nan]),
    "count": (units.count, [0, 1, 12, 999.4, 1000, 9999, -1234, 10_000, 999_999, 1.25e6, 1e18, math.inf]),
    "seconds": (units.duration, [0, 1.2, 0.035, 2e-9, 4.2e-6, 59.99, 599, 725, 7200, -1, -700, math.nan]),
    "percent": (units.percent, [0, 0.0001, -0.0001, 0.05, 0.1994, 0.1996, 0.5, -0.3, 1.2, math.nan]),
    "ratio": (units.ratio, [0, 0.931, 1.004, 1.9994, 1.9996, 2.5, 12.5, 250, -0.5, math.nan]),
}
"""What a page's scripts show and the terminal shows, too: by the name in format.js."""


@pytest.mark.parametrize("name", SHARED)
def test_a_page_s_scripts_show_a_figure_as_the_terminal_does(name: str) -> None:
    if not (node := shutil.which("node")):
        pytest.skip("needs node")
    formatter, values = SHARED[name]
    script = (files("reap.draw") / "page" / "format.js").read_text()
    # JSON has no place for what is no number: a page gets null.
    asked = json.dumps([value if math.isfinite(value) else None for value in values])
    program = f"{script}\nconsole.log(JSON.stringify({asked}.map(format.{name})));"
    shown = subprocess.run([node, "-e", program], capture_output=True, text=True, check=True).stdout
    assert json.loads(shown) == [formatter(value) for value in values]
