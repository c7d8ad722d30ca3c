"""Checks of whether a preload reaches a program's allocations. Pure."""

from reap.evidence.records import Linked, Wall

MATTERS = 0.1
"""The part of samples, from which on code that may be an allocator's hides what allocation costs."""

FEWEST_CALLED = 1000
"""Allocations a second of CPU time, below which what malloc serves is not worth a trial."""


def unreachable(wall: Wall) -> str:
    """Reason why no preload reaches all allocations, a clause; empty where one does, as far as is known."""
    if wall.irreplaceable:
        return wall.irreplaceable
    found = next((each for each in wall.linked if _matters(each, wall)), None)
    return _clause(found) if found else ""


def untriable(wall: Wall) -> str:
    """Reason why no trial of another malloc says anything, a clause; empty where one may.

    An allocator in a library leaves the rest of the program to malloc, if that is called at all.
    """
    if wall.irreplaceable:
        return wall.irreplaceable
    rest = wall.counted is not None and wall.counted.allocations >= FEWEST_CALLED * wall.cpu_seconds
    matters = [each for each in wall.linked if _matters(each, wall)]
    found = next((each for each in matters if not (each.library and rest)), None)
    return _clause(found) if found else ""


def _clause(found: Linked) -> str:
    name = "an allocator" if found.allocator == "unknown" else found.allocator
    return f"{name} is linked into {found.module.rpartition('/')[2]}, which no preload replaces"


def _matters(linked: Linked, wall: Wall) -> bool:
    """Whether it serves the program, or may: a library's own allocator that nobody calls hides nothing."""
    if linked.stands_aside:
        return False
    if linked.seen:
        return linked.allocator == wall.allocator
    every = sum(wall.owners.values())
    return linked.samples >= MATTERS * every > 0
