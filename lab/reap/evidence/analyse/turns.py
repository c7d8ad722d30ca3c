"""Detection of threads in turn: several have work, and together use the time of one core. Pure functions.

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
_TOGETHER = 0.5
"""Threads that run in turn are ready together in no larger part of the polls: one is woken before the other
sleeps, or is polled a moment later. Under a lock held for 1.3 ms it was 0.4, under CPython's own 0.2."""
_CHANGES = 0.05
_FEWEST_CHANGES = 3
"""Threads that run in turn change in this part of the polls, and so often, at least: four under one lock did
in 12 % and more. A thread that starts another and waits for its end works before and after: two changes."""
_ONE_CORE = (0.8, 1.15)
"""The cores that they use together. Of a program that gets less, other programs may have the rest."""


class Turns(NamedTuple):
    """Threads of one process that ran in turn."""

    threads: int
    """How many; 0 if none did."""
    waits: int
    """Polls in which one of them waited for another, counted for each thread."""


def in_turn(watched: native.Watched, cores: float) -> Turns:
    """Of the process whose threads waited most; `cores` is CPU time by time."""
    if not _ONE_CORE[0] <= cores <= _ONE_CORE[1]:
        return Turns(0, 0)
    threads: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for pid, ran, waited in watched.threads():
        threads[pid].append((ran, waited))
    every = [_of_process(row, threads[row[0]]) for row in watched.processes()]
    return max(every, key=lambda each: each.waits, default=Turns(0, 0))


def _of_process(row: tuple[int, int, int, int, int], threads: list[tuple[int, int]]) -> Turns:
    _, polls, alone, several, changes = row
    busy = alone + several
    working = [waited for ran, waited in threads if ran >= _WORKS * busy]
    if len(working) < 2 or polls - busy > _PAUSES * polls:
        return Turns(0, 0)
    if several > _TOGETHER * busy or changes < max(_FEWEST_CHANGES, _CHANGES * busy):
        return Turns(0, 0)
    return Turns(len(working), sum(working))
