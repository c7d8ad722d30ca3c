"""`reap compare --for settled`: memory over a run's time in the verdict, and where the peak hides it."""

import csv
from pathlib import Path

import pytest
from programs import reap
from samples import MIB, comparison_of, ratio_of, side_of
from terminals import flat, printed

from reap.base.errors import ExitCode
from reap.compare import analyse, judge, words
from reap.compare.judge import Standing
from reap.compare.terminal import render_verdict
from reap.experiment.records import Comparison, Side


def compared(*sides: Side, settled: dict[str, tuple[float, float]], **changes: object) -> Comparison:
    """A comparison whose sides have so much settled memory, with half of the interval's width."""
    for side in sides:
        value, half = settled[side.allocator]
        side.ratios["settled_resident"] = ratio_of("settled_resident", value, half, baseline=250.0 * MIB)
    found = comparison_of(sides, **changes)
    found.noise["settled_resident"] = ratio_of("settled_resident", 1.0, 0.002, baseline=250.0 * MIB)
    return found


def test_settled_memory_is_the_verdict_where_it_is_asked_for() -> None:
    sides = [side_of("slim", 1.2), side_of("alike", 0.5), side_of("fat", 0.5), side_of("open", 0.5)]
    levels = {"slim": (0.2, 0.01), "alike": (1.0, 0.01), "fat": (1.3, 0.01), "open": (0.99, 0.05)}
    found = compared(*sides, settled=levels, objective="settled")
    standings = [judge.standing(side, found) for side in found.sides]
    assert standings == [Standing.GAIN, Standing.INCONCLUSIVE, Standing.NONE, Standing.INCONCLUSIVE]
    assert words.headline(found) == "slim takes less settled memory than glibc"
    said = words.verdict(found)
    assert said[0].startswith("slim takes 80 % less settled memory, 50.0 MiB instead of 250 MiB (95 % CI ")
    assert said[0].endswith(": less memory. Beside it the same peak memory and 20 % more CPU time.")
    assert ": more memory." in said[2]
    assert [side.allocator for side in words.by_time(found)] == ["slim", "open", "alike", "fat"]
    assert "settled memory." in words.why(found)
    shown = flat(printed(render_verdict, found))
    assert "Verdict: slim takes less settled memory than glibc" in shown


def test_a_short_program_has_settled_memory_too() -> None:
    found = compared(
        side_of("slim", 1.2, cpu_seconds=0.001), settled={"slim": (0.2, 0.01)}, objective="settled"
    )
    assert words.headline(found) == "slim takes less settled memory than glibc"
    assert words.conditions(found) == []


def test_rounds_stop_once_it_is_decided() -> None:
    certain = compared(side_of("slim", 1.0, 0.2), settled={"slim": (0.2, 0.01)}, objective="settled")
    assert analyse.decided(certain)
    unsure = compared(side_of("slim", 0.5), settled={"slim": (0.98, 0.1)}, objective="settled")
    assert not analyse.decided(unsure)
    assert words.rounds_to_add(unsure) > unsure.rounds


def test_of_a_side_that_has_none_nothing_is_said_of_memory() -> None:
    side = side_of("quick")
    found = comparison_of([side], objective="settled")
    assert judge.standing(side, found) is Standing.UNTRUSTED
    assert words.verdict(found) == ["quick: no result: its memory could not be sampled."]


def test_it_is_told_where_the_peak_does_not_show_it() -> None:
    """Ruby under jemalloc: the same peak, a fifth of the memory."""
    side = side_of("jemalloc", 1.0, 0.02, ratios=side_of("jemalloc", 1.0, 0.02).ratios)
    side.ratios["peak_resident"] = ratio_of("peak_resident", 1.0, 0.05, baseline=240.0 * MIB)
    found = compared(side, settled={"jemalloc": (0.2, 0.01)})
    (said,) = words.verdict(found)
    assert "Settled memory is 80 % less (95 % CI 79.0 to 81.0 % less): 50.0 MiB " in said
    assert "the peak does not show it (240 MiB instead of 240 MiB)." in said


@pytest.mark.parametrize(
    ("settled", "peak"), [((0.99, 0.05), 1.0), ((0.2, 0.01), 0.2), ((1.005, 0.001), 1.0)]
)
def test_it_is_not_told_where_it_does_not_differ_or_the_peak_does(
    settled: tuple[float, float], peak: float
) -> None:
    side = side_of("other")
    side.ratios["peak_resident"] = ratio_of("peak_resident", peak, 0.01, baseline=240.0 * MIB)
    found = compared(side, settled={"other": settled})
    assert judge.hidden_by_peak(side, found) is None


@pytest.mark.timed
def test_it_is_measured(tmp_path: Path) -> None:
    """Two programs of one peak, of which one settles at far less."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time\n"
        "held = bytearray(b'x' * 60_000_000)\n"
        "if sys.argv[1] == 'frees': del held\n"
        "time.sleep(0.3)\n"
    )
    done = reap(
        *["compare", "--for", "settled", "--runs", "2", "--export", "out.csv"],
        *["--against", f"/usr/bin/python3 {script} frees", "--", "/usr/bin/python3", str(script), "keeps"],
        cwd=tmp_path,
    )
    assert done.returncode == ExitCode.OK, done.stderr
    rows = csv.DictReader((tmp_path / "out.csv").read_text().splitlines())
    ratios = {row["metric"]: float(row["ratio"]) for row in rows}
    assert ratios["settled_resident"] < 0.7
    assert ratios["settled_resident"] < ratios["mean_resident"] < 1
    assert ratios["peak_resident"] > 0.9


@pytest.mark.timed
def test_a_program_that_ends_at_once_has_no_settled_memory(tmp_path: Path) -> None:
    for _ in range(5):  # beside busy processes it may live for long enough
        done = reap(
            "compare", "--for", "settled", "--against", "/bin/true 2", "--", "/bin/true", cwd=tmp_path
        )
        if done.returncode != ExitCode.OK:
            break
    assert done.returncode == ExitCode.FAILED
    assert "ended before its memory could be sampled" in done.stderr
