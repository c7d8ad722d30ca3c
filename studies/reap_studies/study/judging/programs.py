"""Effects by program: figures of one program over several allocators or inputs are one observation. Pure.

The interval over programs is Student's t of one mean a program: with a dozen clusters a cluster bootstrap
covers too little.
"""

import math
from collections.abc import Sequence

from reap.api import Estimate, Record, statistics
from reap_studies.study.records import Finding, Side

LEAST = 3
"""Programs below which a claim about many is not judged, and a mean has no interval worth printing."""
QUORUM = 0.5
"""The least share of figures, and of programs, that must be decided."""
SHARE = "share of CPU time"
"""The figure of a finding that is no ratio, but a share: its mean is arithmetic, as it may be 0."""


class Effect(Record):
    """What one program says of a claim."""

    program: str
    ratio: Estimate
    """The mean of its figures, with the mean of their intervals: they share rounds, and may err together."""
    side: Side
    """Side of most of its decided figures, where at least half are decided."""


def effects(findings: Sequence[Finding]) -> list[Effect]:
    """One for each program, in their order."""
    by_program: dict[str, list[Finding]] = {}
    for each in findings:
        by_program.setdefault(each.workload, []).append(each)
    return [
        Effect(program=name, ratio=_middle(own), side=_side([each.side for each in own]))
        for name, own in by_program.items()
    ]


def _middle(findings: Sequence[Finding]) -> Estimate:
    ends = ("value", "low", "high")
    columns = [[getattr(each.ratio, end) for each in findings] for end in ends]
    linear = findings[0].figure == SHARE or min(map(min, columns)) <= 0
    means = [
        math.fsum(each) / len(each)
        if linear
        else math.exp(math.fsum(math.log(value) for value in each) / len(each))
        for each in columns
    ]
    return Estimate(**dict(zip(ends, means, strict=True)))


def _side(sides: Sequence[Side]) -> Side:
    support, against = sides.count("for"), sides.count("against")
    if support == against or support + against < QUORUM * len(sides):
        return "inconclusive"
    return "for" if support > against else "against"


def mean(findings: Sequence[Finding]) -> Estimate | None:
    """The mean over programs with its 95 % CI; of one program its own, None of two, or of none."""
    found = [each.ratio for each in effects(findings)]
    if len(found) < LEAST:
        return found[0] if len(found) == 1 else None
    values = [each.value for each in found]
    is_share = findings[0].figure == SHARE or min(values) <= 0
    return statistics.mean(values) if is_share else statistics.interval(values)
