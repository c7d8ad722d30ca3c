"""Order of the cells of a round, and the choice of those that are restarted for others.

Every round runs every arm once and the baseline twice, in an order of its own: no arm is always first after a
pause, none always follows the same other, and a drift of the machine is spread over all. The orders follow
from the seed alone, so that an experiment that is resumed goes on as it would have gone.

Runs that share a core end one after another, the shortest first. What is left of a longer one would be paired
with nothing, and cost less than before, where others were in its caches: so those that end much earlier are
restarted.
"""

import random
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from reap.experiment.records import Cell, Run

_MUCH_SHORTER = 0.93
"""Less than so much of the longest run: what is left of that one is not to be a tenth of it."""
_WORTH_STARTING = 20e6
"""Nanoseconds. To start a program takes some milliseconds, in which it shares nothing."""


def a_round(arms: Sequence[Cell], number: int, seed: int) -> list[Cell]:
    """The cells of a round in the order in which they run. The baseline is the first of `arms`."""
    cells = [msgspec.structs.replace(arm, repeat=number) for arm in arms]
    cells.append(msgspec.structs.replace(arms[0], repeat=number, control=True))
    # Shuffled by hash of (seed, round), not by one running generator: round 7 is the same after a resume.
    random.Random(f"{seed}/{number}").shuffle(cells)  # noqa: S311 - no secret
    return cells


def to_restart(cells: Sequence[Cell], before: Iterable[Run]) -> list[bool]:
    """Marks the cells of a round that are to be restarted when they end before the longest; pure.

    By the CPU time that their arms took before: the median of runs that shared a core, or else of warm-ups.
    """
    known = _lengths(before)
    usual = [known.get(cell.arm(), 0.0) for cell in cells]
    return [_WORTH_STARTING < each < _MUCH_SHORTER * max(usual) for each in usual]


def _lengths(runs: Iterable[Run]) -> dict[str, float]:
    together: dict[str, list[float]] = defaultdict(list)
    alone: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.together or run.warmup:
            kept = together if run.together else alone
            kept[run.cell.arm()].append(run.outcome.cpu_ns)
    return {arm: statistics.median(each) for arm, each in {**alone, **together}.items()}


def simulated(arm: Cell) -> Cell:
    """The run of an arm in simulated caches."""
    return msgspec.structs.replace(arm, simulated=True)


def counted(arm: Cell, event: str) -> Cell:
    """The run of an arm in which the processor counts an event."""
    return msgspec.structs.replace(arm, counted=event)


def sampled(arm: Cell) -> Cell:
    """The run of an arm in which it is sampled."""
    return msgspec.structs.replace(arm, sampled=True)
