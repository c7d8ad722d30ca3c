"""What the study of the allocator wall says in sentences: the knee, and what helps. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Estimate, units
from reap_studies.study.allocator_wall.analyse import At
from reap_studies.study.allocator_wall.asks import COUNTS, POOL, REGION, TUNED, point
from reap_studies.study.allocator_wall.judge.rules import Judge
from reap_studies.study.records import Answer

RISE = 1.5
"""The knee: where an allocation costs so many times the least that it costs in smaller requests."""
SMALLEST = 10
"""Allocations of the smallest request that is looked at: in smaller ones the first of all costs most."""


def answers(judge: Judge) -> list[Answer]:
    """The questions that somebody on call has; those of which something was measured."""
    made = [
        Answer(
            question="1",
            asked="From how many allocations a request on does each cost more?",
            words=_knees(judge),
        ),
        Answer(
            question="2",
            asked="Once objects are pooled, do the allocators agree?",
            words=_convergence(judge),
        ),
        Answer(
            question="3",
            asked="A request makes 100 objects and does little else: what does each remedy leave of it?",
            words=_remedies(judge),
        ),
    ]
    return [each for each in made if each.words]


def knee(judge: Judge, arm: str, threads: int) -> int | None:
    """The first number of allocations at which one costs RISE times the least before; None: it never does."""
    least = float("inf")
    for count in COUNTS:
        cost = judge.figures.value("knee", arm, point(count, threads), "excess_ns")
        if count < SMALLEST or cost is None or cost.value <= 0:
            continue
        if cost.low > RISE * least:
            return count
        least = min(least, cost.value)
    return None


def _knees(judge: Judge) -> list[str]:
    said = []
    for threads in sorted({1, max(judge.cores, 2)}):
        for arm in (DEFAULT, *TUNED.values(), *judge.others):
            if judge.figures.value("knee", arm, point(COUNTS[-1], threads), "excess_ns") is None:
                continue
            found = knee(judge, arm, threads)
            where = f"at {found}" if found else f"nowhere up to {COUNTS[-1]}"
            said.append(f"{arm}, {'one thread' if threads == 1 else f'{threads} threads'}: {where}.")
    return said


def _own(arm: str, setting: str) -> At:
    return At("knee", arm, setting, "own_ns")


def _convergence(judge: Judge) -> list[str]:
    plain = point(100, judge.cores)
    pooled = f"{POOL}, {plain}"
    said = []
    for arm in judge.others:
        gaps = [
            judge.figures.ratio(_own(DEFAULT, setting), _own(arm, setting)) for setting in (plain, pooled)
        ]
        by_malloc, by_pool = gaps
        if by_malloc is not None and by_pool is not None:
            said.append(
                f"glibc takes {units.ratio_with_interval(by_malloc)} times the CPU time of {arm} by "
                "malloc, "
                f"and {units.ratio_with_interval(by_pool)} times pooled: {_what(by_malloc, by_pool)}."
            )
    return said


def _what(by_malloc: Estimate, by_pool: Estimate) -> str:
    if by_malloc.low <= 1 <= by_malloc.high:
        return "there is no gap to explain"
    if by_pool.low <= 1 <= by_pool.high:
        return "the gap was the allocator's"
    if abs(by_pool.value - 1) < abs(by_malloc.value - 1) / 2:
        return "most of the gap was the allocator's"
    return "the gap is elsewhere, too"


def _remedies(judge: Judge) -> list[str]:
    plain = point(100, judge.cores)
    base = _own(DEFAULT, plain)
    ways = {
        **{f"GLIBC_TUNABLES=glibc.malloc.tcache_count={count}": _own(arm, plain)
           for count, arm in TUNED.items()},
        **{f"another allocator, {arm}": _own(arm, plain) for arm in judge.others},
        "a pool for each thread": _own(DEFAULT, f"{POOL}, {plain}"),
        "a region": _own(REGION, plain),
        "30 objects and not 100": _own(DEFAULT, point(30, judge.cores)),
    }  # fmt: skip
    return [
        f"{name}: {units.ratio_with_interval(ratio)} of its CPU time over glibc."
        for name, at in ways.items()
        if (ratio := judge.figures.ratio(at, base)) is not None
    ]
