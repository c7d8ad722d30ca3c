"""Which cell runs when.

Every round runs every allocator once and the baseline twice, in an order of its own: no allocator is always
first after a pause, none always follows the same other, and a drift of the machine is spread over all. The
orders follow from the seed alone, so that an experiment that is resumed goes on as it would have gone.
"""

import random
from collections.abc import Sequence

from reap.experiment.records import Cell


def warmups(cell: Cell, allocators: Sequence[str]) -> list[Cell]:
    """One run of each allocator that fills caches and is not counted, the baseline's first."""
    return [_with(cell, allocator, 0) for allocator in allocators]


def a_round(cell: Cell, allocators: Sequence[str], number: int, seed: int) -> list[Cell]:
    """The cells of a round in the order in which they run. The baseline is the first of `allocators`."""
    cells = [_with(cell, allocator, number) for allocator in allocators]
    cells.append(_with(cell, allocators[0], number, control=True))
    # Shuffled by hash of (seed, round), not by one running generator: round 7 is the same after a resume.
    random.Random(f"{seed}/{number}").shuffle(cells)  # noqa: S311 - no secret
    return cells


def _with(cell: Cell, allocator: str, repeat: int, *, control: bool = False) -> Cell:
    return Cell(
        workload=cell.workload,
        variant=cell.variant,
        allocator=allocator,
        level=cell.level,
        environment=cell.environment,
        repeat=repeat,
        control=control,
    )
