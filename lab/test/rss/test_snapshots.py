"""Snapshots of short programs, and what the terminal says of them."""

import itertools
from pathlib import Path

import pytest
from lab.test.rss.moments import kernel_of, residence_of, taken_of
from rich.console import Console

from reap.rss import linked, terminal, watch

MB = 1 << 20


def printed(residence):
    console = Console(width=80, record=True)
    with console.capture() as captured:
        terminal.render(console, residence)
    return captured.get()


class Clock:
    """Time that passes only while someone waits: a `time`, and an Event that is never set."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def thread_time(self):
        return 0.0

    def wait(self, seconds):
        self.now += seconds
        return False


def test_a_short_program_is_seen_near_its_peak_and_a_long_one_at_the_interval(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(watch, "time", clock)
    seen = list(itertools.takewhile(lambda at: at < 2, watch._ticks(0.1, None, clock)))
    for before, after in itertools.pairwise(seen):
        assert after - before <= max(0.0051, min(0.1001, before / 8 + 0.001)), (before, after)
    assert seen[-1] - seen[-2] == pytest.approx(0.1)


def test_a_program_that_grows_is_not_missed_while_its_files_are_searched(monkeypatch):
    waits = []
    monkeypatch.setattr(linked, "wait", lambda _, seconds: waits.append(seconds))
    monkeypatch.setattr(linked.mapped, "find", lambda *_: [])
    for now, path in ((0.04, Path("answers")), (4.0, Path("answers")), (0.04, None)):
        linked.Search().look(1, "a r-xp b", 5 * MB, None, path, now)
    assert waits == [0.01, 0.2, 0.2]


def test_one_snapshot_has_no_time_in_its_table():
    said = printed(residence_of(taken_of(kernel_of(heap=MB, files=MB), seconds=6.11e-6)))
    assert "µs" not in said
    assert "timeline" not in said
    assert "1 snapshot; figures" in said


def test_snapshots_are_told_with_the_time_that_they_span():
    kernel = kernel_of(heap=MB, files=MB)
    said = printed(residence_of(taken_of(kernel, seconds=0.0), taken_of(kernel, seconds=0.282)))
    assert "2 snapshots in 282 ms; figures" in said
    assert "timeline" in said
