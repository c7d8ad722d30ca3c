"""Settled memory: the one definition, by reference and at its edges."""

import statistics
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reap.launch import freezer, together
from reap.launch.process import resident, settled
from reap.launch.records import Launch

BUSY = """
import time
held = bytearray(b"x" * 100_000_000)
end = time.process_time() + 0.15
while time.process_time() < end: pass
del held
end = time.process_time() + 0.45
while time.process_time() < end: pass
"""


def test_it_is_held_for_half_of_the_second_half() -> None:
    """Most memory at the start, a burst of less than a quarter, and what the exit frees have no effect."""
    series = [(0.0, 900.0), (4.9, 100.0), (7.0, 800.0), (9.0, 100.0), (9.9, 1.0)]
    assert settled.settled(series, 10.0) == 100.0
    assert settled.mean(series, 10.0) == pytest.approx((4.9 * 900 + 2.1 * 100 + 2 * 800 + 90 + 0.1) / 10)


def test_how_often_samples_are_taken_has_no_effect() -> None:
    burst = [(5.0 + number / 1000, 800.0) for number in range(1000)]
    assert settled.settled([(0.0, 100.0), *burst, (6.0, 100.0)], 10.0) == 100.0


def test_a_level_is_held_from_the_begin_and_to_the_end() -> None:
    assert settled.settled([(3.0, 7.0)], 4.0) == 7.0
    assert settled.mean([(3.0, 7.0)], 4.0) == 7.0
    assert settled.settled([(0.0, 7.0), (9.0, 3.0)], 9.0) == 7.0
    assert settled.settled([(2.0, 5.0)], 2.0, begin=2.0) == 5.0
    assert settled.settled([], 4.0) is None
    assert settled.mean([], 4.0) is None


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 40))
def test_of_even_steps_it_is_a_median_of_the_second_half(levels: list[int], step: int) -> None:
    series = [(float(number * step), float(level)) for number, level in enumerate(levels)]
    found = settled.settled(series, float(len(levels) * step))
    fine = [level for level in levels for _ in range(2)][len(levels) :]  # half a step each
    assert found == statistics.median_low(fine)


def test_time_in_which_it_is_stopped_does_not_count() -> None:
    turns = [(0, 10), (100, 110), (900, 920)]
    samples = [(5, 1.0), (50, 9.0), (105, 2.0), (500, 9.0), (910, 3.0)]
    series, end = settled.in_turns(samples, turns)
    assert [(round(at * 1e9), level) for at, level in series] == [(5, 1.0), (15, 2.0), (30, 3.0)]
    assert round(end * 1e9) == 40


def test_a_program_that_was_not_executed_has_none(tmp_path: Path) -> None:
    nothing = {"settled_resident": None, "mean_resident": None, "resident_over_time": []}
    assert resident.read(tmp_path / "none", 1) == nothing


def test_of_many_samples_some_are_kept_and_the_highest(tmp_path: Path) -> None:
    sizes = [5_000_000 if at == 777 else 1000 + at for at in range(2000)]
    lines = (f"{10**9 + at * 10**6} {size}" for at, size in enumerate(sizes))
    (tmp_path / "samples").write_text("\n".join(lines))
    kept = resident.read(tmp_path / "samples", 2 * 10**9)["resident_over_time"]
    assert isinstance(kept, list)
    assert len(kept) <= 100
    assert (kept[0], kept[-1]) == ((0.0, 1000), (1.999, 2999))
    assert (0.777, 5_000_000) in kept
    assert kept == sorted(kept)


@pytest.mark.timed
@pytest.mark.parametrize("how", ["freezer", "signals"])
def test_of_programs_that_take_turns(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a large heap in the first quarter of its turns: the first half of any of its times."""
    if how == "signals":
        monkeypatch.setattr(freezer, "here", lambda: None)
    elif freezer.here() is None:
        pytest.skip("no cgroup with a freezer can be made here")
    launch = Launch(argv=["python3", "-c", BUSY], program=sys.executable, resident=True)
    for outcome in together.run([launch] * 2, None):
        assert outcome.settled_resident is not None
        assert outcome.mean_resident is not None
        assert outcome.settled_resident < 60e6
        assert outcome.settled_resident < outcome.mean_resident < outcome.peak_resident
