"""Which remedies are tried, in which order, and how they rank. Pure functions."""

import math
from collections.abc import Collection, Mapping, Sequence

from reap.allocators.remedies.table import MemoryRemedy, all_remedies
from reap.rss.records import Parts, Residence, Taken
from reap.rss.trials.records import Tried

ROUNDS = 3
"""Paired rounds of those that gave most in their first run, where there is time ..."""
LEAST_ROUNDS = 2
"""... and at least: of one round there is no interval."""
MOST_ROUNDS = 5
COPIES = 2
"""The program as it is runs twice a round."""
LEAST_FINALISTS = 2


def steady(residence: Residence) -> Taken:
    """A usual moment of the second half: that of the median of resident memory."""
    moments = residence.moments
    half = [each for each in moments if each.seconds >= moments[-1].seconds / 2]
    return sorted(half, key=lambda each: each.resident)[len(half) // 2]


def applicable(residence: Residence, runtimes: Collection[str], *, huge_pages: bool) -> list[MemoryRemedy]:
    """The remedies that could do anything, those that the account speaks for first.

    `runtimes` are those of the program (`cpython`, `go`, `jvm`, `ruby`, `v8`); with `huge_pages` the kernel
    gives them to programs.
    """
    moment = steady(residence)
    known = {residence.allocator, *runtimes}
    found = [
        each
        for each in all_remedies()
        if (not each.on or known & {*each.on}) and (huge_pages or each.huge_pages != "off")
    ]
    return sorted(found, key=lambda each: -_grounds(each, moment))


def _grounds(remedy: MemoryRemedy, moment: Taken) -> float:
    """The share of memory that speaks for it, in tenths: less of a difference decides nothing."""
    names = {*Parts.__struct_fields__} & {*remedy.owners}
    size: int = sum(getattr(moment.parts, name) for name in names)
    size = max(size, moment.huge) if "huge" in remedy.owners else size
    return round(10 * size / max(1, moment.resident))


def runs_for(arms: int, finalists: int = LEAST_FINALISTS, rounds: int = LEAST_ROUNDS) -> int:
    """How often the program runs to try so many remedies."""
    return arms + 1 + rounds * (min(arms, finalists) + COPIES)


def affordable(wanted: int, runs: int) -> int:
    """How many remedies are tried in so many runs; about half of the runs are for the first of each."""
    most = max(runs // 2 - 1, 1)
    return max((n for n in range(1, min(wanted, most) + 1) if runs_for(n) <= runs), default=0)


def finalists(first: Mapping[str, float], runs: int) -> list[str]:
    """Those that gave most in their first run, as many as have all rounds in so many runs.

    Two at least. `first` is the settled memory of each.
    """
    ordered = sorted(first, key=lambda name: first[name])
    return ordered[: max(LEAST_FINALISTS, runs // ROUNDS - COPIES)]


def rounds_of(arms: int, runs: int) -> int:
    """How many rounds there are of so many finalists in so many runs."""
    return max(LEAST_ROUNDS, min(MOST_ROUNDS, runs // (arms + COPIES)))


def ranked(tried: Sequence[Tried]) -> list[Tried]:
    """That which leaves least memory first; after those of the rounds those of one run, then the failed."""

    def place(each: Tried) -> tuple[bool, bool, float]:
        ratio = each.ratio.ratio.value if each.ratio else math.inf
        return bool(each.problem), each.ratio is None, ratio if each.ratio else each.settled or math.inf

    return sorted(tried, key=place)
