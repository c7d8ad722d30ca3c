"""Whether the threads of a program ran in turn, never two at once. Pure functions.

CPython's interpreter lock, semaphores and conditions look alike to the kernel, and so does a pool of threads
that waits for work. Threads that have work take their turns without a pause between them.
"""

from collections import defaultdict
from typing import NamedTuple

from reap import native

_WORKS = 0.1
"""A thread works if it runs in this part of the polls in which its process does."""
_PAUSES = 0.1
"""Threads that have work leave no larger part of the polls without one of them."""
_TOGETHER = 0.1
"""Threads that run in turn overlap in no larger part of the polls: one is woken before the other sleeps."""


class Turns(NamedTuple):
    """Threads of one process that ran in turn."""

    threads: int
    """How many; 0 if none did."""
    waits: int
    """Polls in which one of them waited for another, counted for each thread."""


def in_turn(watched: native.Watched) -> Turns:
    """Of the process whose threads waited most."""
    threads: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for pid, ran, waited in watched.threads():
        threads[pid].append((ran, waited))
    every = [
        _of_process(polls, alone, several, threads[pid]) for pid, polls, alone, several in watched.processes()
    ]
    return max(every, key=lambda each: each.waits, default=Turns(0, 0))


def _of_process(polls: int, alone: int, several: int, threads: list[tuple[int, int]]) -> Turns:
    busy = alone + several
    working = [waited for ran, waited in threads if ran >= _WORKS * busy]
    if len(working) < 2 or polls - busy > _PAUSES * polls or several > _TOGETHER * busy:
        return Turns(0, 0)
    return Turns(len(working), sum(working))
