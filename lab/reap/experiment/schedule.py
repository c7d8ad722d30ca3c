"""Which cell runs when.

Every round runs every arm once and the baseline twice, in an order of its own: no arm is always first after a
pause, none always follows the same other, and a drift of the machine is spread over all. The orders follow
from the seed alone, so that an experiment that is resumed goes on as it would have gone.
"""

import random
from collections.abc import Sequence

import msgspec

from reap.experiment.records import Cell


def a_round(arms: Sequence[Cell], number: int, seed: int) -> list[Cell]:
    """The cells of a round in the order in which they run. The baseline is the first of `arms`."""
    cells = [msgspec.structs.replace(arm, repeat=number) for arm in arms]
    cells.append(msgspec.structs.replace(arms[0], repeat=number, control=True))
    # Shuffled by hash of (seed, round), not by one running generator: round 7 is the same after a resume.
    random.Random(f"{seed}/{number}").shuffle(cells)  # noqa: S311 - no secret
    return cells


def simulated(arm: Cell) -> Cell:
    """The run of an arm in simulated caches."""
    return msgspec.structs.replace(arm, simulated=True)


def counted(arm: Cell, event: str) -> Cell:
    """The run of an arm in which the processor counts an event."""
    return msgspec.structs.replace(arm, counted=event)


def sampled(arm: Cell) -> Cell:
    """The run of an arm in which it is sampled."""
    return msgspec.structs.replace(arm, sampled=True)
