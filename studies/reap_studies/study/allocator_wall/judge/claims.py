"""All claims of the allocator wall that can be checked, in the text's order, each judged by its figures."""

from collections.abc import Sequence

from reap.api import Allocator
from reap_studies.study.allocator_wall.analyse import Figures
from reap_studies.study.allocator_wall.judge import cost, glibc, latency, memory, others, python, services
from reap_studies.study.allocator_wall.judge.rules import Judge
from reap_studies.study.allocator_wall.records import ARTICLE, Wall
from reap_studies.study.records import Conclusion


def judging(wall: Wall, allocators: Sequence[Allocator]) -> Judge:
    """What judges: the figures of all, the claims by the article's allocators alone."""
    others = tuple(each.name for each in allocators if each.library and each.name in ARTICLE)
    return Judge(wall, Figures(wall.samples), others)


def judge(wall: Wall, allocators: Sequence[Allocator]) -> list[Conclusion]:
    """Every claim, with its rule."""
    measured = judging(wall, allocators)
    return [
        *python.claims(measured),
        *glibc.claims(measured),
        *others.claims(measured),
        *cost.claims(measured),
        *latency.claims(measured),
        *services.claims(measured),
        *memory.claims(measured),
    ]
