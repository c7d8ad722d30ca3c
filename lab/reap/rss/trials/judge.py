"""Effect of each remedy, and the one that saves most memory. Pure functions."""

import enum

from reap.rss.trials.records import Trials, Tried

WORTH = 0.03
"""A smaller change of settled memory is none."""
LEAST = 1 << 20
"""Bytes; as above."""


class Effect(enum.Enum):
    """Effect of a remedy on settled memory."""

    LESS = "less"
    MORE = "more"
    NONE = "no difference"
    OPEN = "inconclusive"
    SEEMS = "one run"
    FAILED = "failed"


def effect(tried: Tried) -> Effect:
    """Effect of a remedy as far as the rounds prove it."""
    if tried.problem:
        return Effect.FAILED
    ratio = tried.ratio
    if ratio is None:
        return Effect.SEEMS
    small = abs(ratio.value - ratio.baseline) < LEAST
    if small or (ratio.ratio.low > 1 - WORTH and ratio.ratio.high < 1 + WORTH):
        return Effect.NONE
    if ratio.ratio.high < 1:
        return Effect.LESS
    return Effect.MORE if ratio.ratio.low > 1 else Effect.OPEN


def winner(trials: Trials) -> Tried | None:
    """Remedy that is proven to save most memory; None where nothing is proven."""
    return next((each for each in trials.tried if effect(each) is Effect.LESS), None)
