"""Snapshots of short programs, and what the terminal says of them."""

from lab.test.rss.moments import kernel_of, residence_of, taken_of
from rich.console import Console

from reap.rss import terminal

MB = 1 << 20


def printed(residence):
    console = Console(width=80, record=True)
    with console.capture() as captured:
        terminal.render(console, residence)
    return captured.get()


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
