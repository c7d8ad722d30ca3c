"""Holds what `reap rss` says of a program against what is true of it."""

from collections.abc import Mapping
from typing import Literal

from memory.records import LEAST, WITHIN, Holding, best

Outcome = Literal["right", "inconclusive", "wrong"]


def of_owner(cause: str, case: Holding) -> Outcome:
    """Judge the part that a verdict names."""
    if cause in case.owners:
        return "right"
    return "wrong" if cause in case.never else "inconclusive"


def of_twin(cause: str, case: Holding) -> Outcome:
    """Judge the part that is named of the twin, which does not have the fault."""
    return "wrong" if cause in case.owners and cause not in ("live", "other") else "right"


def of_remedy(first: str, settled: Mapping[str, float]) -> Outcome:
    """Judge the remedy that is ranked first, by name of the arm, against what was measured by hand.

    Empty is *none gives anything back*, and right where that is so. An arm that was not measured by hand is
    inconclusive.
    """
    right = best(settled)
    if not first:
        return "wrong" if right else "right"
    if first not in settled:
        return "inconclusive"
    return "right" if first in right else "wrong"


def close(printed: float, by_hand: float) -> bool:
    """Whether settled MB are within WITHIN of those by hand, or within LEAST."""
    return abs(printed - by_hand) <= max(WITHIN * by_hand, LEAST)
