"""How long a full study takes, before it begins: from its plan and the seconds of its cards. Runs nothing."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from reap.api import MOST_ROUNDS, SIMULATED, Listener, units
from reap_studies.study import measuring
from reap_studies.study.measuring import ROUNDS, Work

LITTERED = 1.3
"""A card's seconds are those of its first variant on a clean heap; the others take so many times as long."""
_NAMED = 3
"""Workloads that are named: those that take longest."""


class Forecast(NamedTuple):
    """What one workload takes, in seconds."""

    name: str
    least: float
    """If all its intervals are narrow after the first rounds."""
    most: float
    """If some never are."""


def of(work: Work, most_rounds: int = MOST_ROUNDS) -> Forecast:
    """Of a workload's experiment; what has run of it is taken off, and says what a run takes."""
    if measuring.lacking(work.described):
        return Forecast(work.place.name, 0.0, 0.0)
    wanted, controls = _arms(work)
    once = wanted * (1 + (SIMULATED if work.fragment.caches else 0))
    rounds = ROUNDS[work.mode]
    least = wanted + controls + once + rounds * (wanted + controls + 1)
    most = least + (most_rounds - rounds) * (wanted + 1)
    had = measuring.runs(work)
    run = fmean(each.seconds for each in had) if had else _by_card(work)
    return Forecast(work.place.name, *(run * max(0, runs - len(had)) for runs in (least, most)))


def _by_card(work: Work) -> float:
    described = work.described
    scale = measuring.scale_of(described, work.mode, measuring.RUN[work.mode] / work.part)
    return LITTERED * described.expected_seconds * scale / described.default_scale


def _arms(work: Work) -> tuple[int, int]:
    """How many a round has that are wanted, and how many controls."""
    plan, count = work.fragment, len(work.allocators)
    variants = [work.alone] if work.alone else [*work.described.variants, *work.peers]
    pairs = sum(len(plan.replaced_over) or count if each == "reap" else count for each in variants)
    controls = 2 * pairs + 2 * plan.layouts * len(variants) if plan.controls else 0
    return pairs * len(plan.levels), controls


def rest(seconds: float, rounds: int, listener: Listener, what: str = "") -> None:
    """Tells how long so many rounds more take together, by one that took so many seconds."""
    if rounds > 0:
        took = f"{what}: a round" if what else "a round"
        more, left = units.many(rounds, "more round"), units.about(rounds * seconds)
        listener.say(f"{took} took {units.about(seconds)}; {more} in about {left}")


def say(works: Sequence[Work], listener: Listener, cores: int = 1, most_rounds: int = MOST_ROUNDS) -> None:
    """Tells how long all of them take together, and which take longest."""
    every = [of(work, most_rounds) for work in works]
    least, most = sum(each.least for each in every), sum(each.most for each in every)
    if most == 0:
        return
    longest = sorted(every, key=lambda each: -each.least)[:_NAMED]
    named = ", ".join(f"{each.name} ({units.about(each.least)})" for each in longest if each.least)
    on = f" on {cores} cores" if cores > 1 else ""
    listener.say(
        f"{units.many(len(works), 'experiment')}, about {units.about(least / cores)}{on} if all intervals "
        f"are narrow after {ROUNDS['full']} rounds, at most {units.about(most / cores)}; longest: {named}"
    )
