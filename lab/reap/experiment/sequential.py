"""Rounds that stop when the answer is known: when to look, and intervals that stay right however one stops.

A fixed-sample 95 % confidence interval is made for one look. Somebody who looks again and again, and stops at
the first interval without 1, is wrong in 16 to 20 % of experiments (lab/bench/intervals.py). Here an
experiment is looked at after 6, 12 and 24 rounds and at its end, and every interval is widened by one
constant, so that all together hold the truth in 95 % of experiments. This is a group-sequential design with
boundaries at one normal quantile (compare Jennison and Turnbull, *Group Sequential Methods*, 1999, chapters 2
and 4). Neither signed ranks nor the Student's t of the first look has an unknown parameter, so the constant
follows from simulation alone: lab/bench/sequential.py prints it.
"""

from typing import Literal

from reap.base.records import Estimate

LOOKS = (6, 12, 24)
"""Rounds after which an experiment may stop."""

MAX_ROUNDS = 48
"""The end, at the latest; a budget may end it at any number of rounds below."""

WIDENING = 1.26
"""Width of every interval in fixed-sample intervals. An end at MAX_ROUNDS needs it, an earlier one less."""

WORTH = 0.03
"""The smallest change of a program's time that matters, unless the user says otherwise. Link order, the size
of the environment and the like move it by a few percent (Mytkowicz et al., ASPLOS 2009)."""


def widening(rounds: int) -> float:
    """Width of the intervals of an experiment of at most so many rounds, in fixed-sample intervals.

    One that ends before the first look, as of a program that runs for long, is looked at once.
    """
    return WIDENING if rounds > LOOKS[0] else 1.0


Standing = Literal["lower", "higher", "equivalent", "inconclusive"]


def standing(ratio: Estimate, worth: float) -> Standing:
    """Classifies a ratio by its interval; pure.

    *equivalent*: all of it is within `worth` of 1, on whichever side. *lower*, *higher*: it excludes 1 and
    reaches beyond `worth`. *inconclusive* otherwise. With `worth` 0 nothing is equivalent.
    """
    if 1 - worth < ratio.low and ratio.high < 1 + worth:
        return "equivalent"
    if ratio.high < 1:
        return "lower"
    if ratio.low > 1:
        return "higher"
    return "inconclusive"
