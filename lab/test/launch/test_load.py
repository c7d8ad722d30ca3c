"""How much of the cores' time other programs take: read from /proc/stat, own time subtracted."""

import os
import time
from pathlib import Path

import pytest

from reap.launch.host import load
from reap.launch.host.load import Moment

TICKS = os.sysconf("SC_CLK_TCK")


def stat(file: Path, cores: dict[int, int], idle: int = 5000) -> Path:
    """A /proc/stat in which each core was busy for so many ticks, in user mode and by a quarter stolen."""
    rows = [
        f"cpu{core} {busy - busy // 4} 0 0 {idle} 70 0 0 {busy // 4} 60 0" for core, busy in cores.items()
    ]
    file.write_text("\n".join([f"cpu  {sum(cores.values())} 0 0 {idle} 0 0 0 0 0 0", *rows, "intr 5 4 3"]))
    return file


def test_only_the_cores_that_may_be_used_count_and_waiting_does_not(tmp_path: Path) -> None:
    file = stat(tmp_path / "stat", {0: 4 * TICKS, 1: 8 * TICKS, 11: 400 * TICKS})
    seen = load.now(file, {0, 1})
    assert seen.busy == pytest.approx(12)
    assert seen.cores == 2


def test_the_share_of_others_is_without_what_was_taken_by_us() -> None:
    before = Moment(at=10.0, cores=2, busy=100.0, own=5.0)
    assert load.others(before, Moment(at=20.0, cores=2, busy=115.0, own=10.0)) == pytest.approx(0.5)
    short = load.others(before, Moment(at=10.5, cores=2, busy=100.0, own=5.004))
    assert short == pytest.approx(-0.004), "a tick was not counted yet; the next run has it"


def test_nothing_is_claimed_where_the_kernel_counts_nothing(tmp_path: Path) -> None:
    nothing = load.now(tmp_path / "missing", {0})
    assert load.others(nothing, load.now(tmp_path / "missing", {0})) is None
    zeros = load.now(stat(tmp_path / "stat", {0: 0}), {0})
    assert load.others(zeros, zeros) is None


def test_our_own_work_is_not_that_of_others() -> None:
    """Whatever others take: without subtracting our own, one core more would be busy."""
    since = load.now()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    now = load.now()
    assert now.own - since.own >= 0.19
    share = load.others(since, now)
    assert share is None or share < 1.01
