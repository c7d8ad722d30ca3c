"""What marked requests allocate: counted exactly, in both depths, whatever becomes of the program."""

import pytest
from marked import marks
from recorded import recorded

from reap.recording.record import Depth
from reap.recording.records import PerRequest, Requests


def requests(folder, depth: Depth, *words: str, **options) -> Requests | None:
    return recorded(folder, depth, marks(), *words, **options).profile.requests


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize(
    ("words", "count", "blocks"),
    [
        (["plain", "1000"], 1000, 2500),
        (["nested", "1000"], 1000, 2500),
        (["alone"], 1, 1),
        (["across"], 1, 1),
        (["fork"], 2, 1),
        (["raw"], 2, 1),
        (["exit"], 1, 1),
        (["killed", "1000"], 1000, 2500),
        (["threads", "1000"], 1000, 1000),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_each_request_s_allocations_are_counted(tmp_path, depth, words, count, blocks):
    found = requests(tmp_path, depth, *words)
    assert found is not None
    assert found.count == count
    assert found.allocations.mean * count == pytest.approx(blocks)
    assert found.bytes.mean * count == pytest.approx(100 * blocks)
    assert found.phases == []


@pytest.mark.parametrize("depth", ["triage", "full"])
def test_every_kind_of_call_counts_and_those_that_fail_do_not(tmp_path, depth):
    found = requests(tmp_path, depth, "mixed", "300")
    assert found is not None
    assert found.allocations == PerRequest(mean=5, p50=5, p99=5, max=5)
    assert found.bytes.mean == found.bytes.max == 101050
    assert found.bytes.p50 == pytest.approx(101050, rel=0.008)


@pytest.mark.parametrize(
    "words", [["plain", "1000"], ["threads", "200"], ["fork"]], ids=lambda words: words[0]
)
def test_the_same_run_may_be_timed(tmp_path, words):
    """Two listeners: each hears what it would hear alone."""
    alone = requests(tmp_path, "triage", *words)
    both = recorded(tmp_path, "triage", marks(), *words, requests=True)
    assert alone is not None
    assert both.profile.requests == alone
    assert both.outcome.requests is not None
    assert both.outcome.requests.count == alone.count


def test_percentiles_are_of_the_requests(tmp_path):
    found = requests(tmp_path, "triage", "plain", "1000")
    assert found is not None
    assert found.allocations == PerRequest(mean=2.5, p50=2, p99=4, max=4)
    assert found.bytes == PerRequest(mean=250, p50=200, p99=400, max=400)


def test_requests_are_told_apart_by_phase(tmp_path):
    found = requests(tmp_path, "triage", "phases", "8")
    assert found is not None
    assert [(each.phase, each.count) for each in found.phases] == [("", 8), ("warm", 16), ("cold", 8)]
    assert all(each.allocations.mean == 2.5 for each in found.phases)


def test_threads_that_come_and_go_share_their_blocks(tmp_path):
    """A block is 64 KB: thousands of threads must not have one each."""
    few = recorded(tmp_path, "triage", marks(), "threads", "16").path.stat().st_size
    many = recorded(tmp_path, "triage", marks(), "threads", "3200").path.stat().st_size
    assert many < few + 64 * 65536


def test_a_program_that_marks_nothing_has_no_requests(tmp_path):
    assert requests(tmp_path, "triage", "pools", "3") is None
