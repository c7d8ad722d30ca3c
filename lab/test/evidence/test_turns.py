"""Threads that run in turn, among others that only look like them: polls made by hand."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from walls import calls, wall_of

from reap.evidence.analyse.suspicions.suspect import suspect
from reap.evidence.analyse.turns import Turns, in_turn
from reap.evidence.records import Waiting

POLLS = 1000


def polled(alone: int, several: int, threads: Sequence[tuple[int, int]], changes: int = 120) -> Any:
    """A process in a thousand polls: in how many one thread ran, or several; each thread's (ran, waited)."""
    rows = [(1, ran, waited) for ran, waited in threads]
    return SimpleNamespace(processes=lambda: [(1, POLLS, alone, several, changes)], threads=lambda: rows)


def test_threads_under_one_lock_run_in_turn() -> None:
    """Their first thread waits for the others all the time, and has no work of its own."""
    polls = polled(600, 390, [(20, 900), (300, 650), (310, 640), (360, 600)])
    assert in_turn(polls, 1.0) == Turns(3, 1890)
    assert in_turn(polls, 0.5) == Turns(0, 0), "other programs had the core, or it slept"
    assert in_turn(polls, 1.5) == Turns(0, 0), "two ran at once for half of the time"


@pytest.mark.parametrize(
    ("alone", "several", "threads"),
    [
        pytest.param(990, 5, [(995, 0), (0, 995), (0, 995)], id="a pool without work"),
        pytest.param(400, 5, [(200, 200), (205, 200)], id="a pool with little work"),
        pytest.param(100, 890, [(900, 50), (880, 60)], id="threads that run at once"),
        pytest.param(995, 0, [(995, 0)], id="one thread"),
        pytest.param(0, 0, [], id="nothing that ran"),
    ],
)
def test_others_do_not(alone: int, several: int, threads: list[tuple[int, int]]) -> None:
    assert in_turn(polled(alone, several, threads), 1.0) == Turns(0, 0)


def test_a_thread_that_starts_another_and_waits_for_it_takes_no_turns() -> None:
    """A tenth of the time for imports, the rest in a thread: `join` was read as a lock of its own."""
    threads = [(110, 880), (890, 0)]
    assert in_turn(polled(1000, 0, threads, changes=2), 1.0) == Turns(0, 0)
    assert in_turn(polled(1000, 0, threads, changes=40), 1.0) == Turns(0, 0), "and does so again and again"
    assert in_turn(polled(1000, 0, threads, changes=120), 1.0) == Turns(2, 880)


def test_of_several_processes_the_one_whose_threads_wait_most_is_told() -> None:
    rows = [(1, 500, 400), (1, 500, 400), (2, 500, 450), (2, 500, 450)]
    both = SimpleNamespace(
        processes=lambda: [(1, POLLS, 990, 0, 120), (2, POLLS, 990, 0, 120)], threads=lambda: rows
    )
    assert in_turn(both, 1.0) == Turns(2, 900)  # type: ignore[arg-type]


def test_threads_that_run_in_turn_are_told_of_with_their_number() -> None:
    waits = Waiting(lock=1.5, allocator_lock=0.0, polls=900, turns=4)
    (found,) = suspect(wall_of(0.01, calls=calls(others_futex=30_000), waiting=waits))
    assert found.cause == "a lock of its own"
    assert "4 threads had work, and used the time of one core together" in found.statements[0].statement
