"""The trend of memory over time, with its confidence interval. Pure functions.

The trend is a least-squares line through the means of blocks of time (`reap.recording.analyse.trend`), with a
level of its own for each start.
"""

from collections.abc import Iterable, Sequence

from reap.recording.analyse.trend import WARM_UP, blocks, mean, settled, slope
from reap.rss.growth.records import GROUPS, Growth, Snapshot, Trend
from reap.rss.records import Residence

BLOCKS = 24
"""Of all starts together."""
LEAST = 8
"""Blocks below which there is no trend: the resemblance of so few cannot be estimated."""
_HOUR = 3600.0


def starts(snapshots: Iterable[Snapshot]) -> list[list[Snapshot]]:
    """The snapshots of each process, in order."""
    found: list[list[Snapshot]] = []
    for each in snapshots:
        last = found[-1][-1] if found else None
        if last is None or last.pid != each.pid or last.seconds > each.seconds:
            found.append([])
        found[-1].append(each)
    return found


def long(of: Sequence[Sequence[Snapshot]]) -> float:
    """Time for which all starts together were observed."""
    return sum(each[-1].seconds - each[0].seconds for each in of)


def summary(of: Sequence[Sequence[Snapshot]], last: Residence | None, available: int) -> Growth:
    """Results of all starts, at least one. `last` was seen of the last one; None: nothing new was."""
    found = trends(of)
    resident = found.pop("resident", None)
    return Growth(
        command=last.command if last else [f"process {of[-1][0].pid}"],
        starts=len(of),
        seconds=long(of),
        warm_up=WARM_UP * long(of),
        snapshots=sum(map(len, of)),
        asked=bool(last.allocator) if last else any(each.groups["live"] for start in of for each in start),
        resident=resident,
        parts=found,
        available=available,
        ended=last.ended if last else "",
        notes=list(last.notes) if last else [],
    )


def trends(of: Sequence[Sequence[Snapshot]]) -> dict[str, Trend]:
    """The trend of `resident` and of each group that had a byte; empty where it was too short."""
    kept = [each for each in map(settled, of) if len(each) > 1]
    whole = long(kept)
    if whole <= 0:
        return {}
    divided = [blocks(each, max(1, round(BLOCKS * long([each]) / whole))) for each in kept]
    if sum(map(len, divided)) < LEAST or sum(map(len, divided)) - len(divided) < LEAST - 1:
        return {}
    names = [name for name in GROUPS if any(each.groups[name] for start in kept for each in start)]
    return {name: _trend(divided, name) for name in ["resident", *names]}


_Block = list[Snapshot]


def _value(each: Snapshot, name: str) -> float:
    return float(each.resident if name == "resident" else each.groups[name])


def _trend(of: Sequence[Sequence[_Block]], name: str) -> Trend:
    levels = [[mean(_value(each, name) for each in block) for block in start] for start in of]
    times = [[mean(each.seconds for each in block) / _HOUR for block in start] for start in of]
    return Trend(per_hour=slope(times, levels), first=levels[0][0], last=levels[-1][-1])
