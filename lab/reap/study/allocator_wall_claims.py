"""All claims of the allocator wall that can be checked, in the text's order, each judged by its figures."""

from collections.abc import Sequence

from reap.allocators.records import Allocator
from reap.study import allocator_wall_claims_cost as cost
from reap.study import allocator_wall_claims_glibc as glibc
from reap.study import allocator_wall_claims_latency as latency
from reap.study import allocator_wall_claims_memory as memory
from reap.study import allocator_wall_claims_others as others
from reap.study import allocator_wall_claims_python as python
from reap.study.allocator_wall_figures import Figures
from reap.study.allocator_wall_judging import Judge
from reap.study.allocator_wall_records import Wall
from reap.study.records import Conclusion


def judging(wall: Wall, allocators: Sequence[Allocator]) -> Judge:
    """What judges."""
    return Judge(wall, Figures(wall.samples), tuple(each.name for each in allocators if each.library))


def judge(wall: Wall, allocators: Sequence[Allocator]) -> list[Conclusion]:
    """Every claim, with its rule."""
    measured = judging(wall, allocators)
    return [
        *python.claims(measured),
        *glibc.claims(measured),
        *others.claims(measured),
        *cost.claims(measured),
        *latency.claims(measured),
        *memory.claims(measured),
    ]
