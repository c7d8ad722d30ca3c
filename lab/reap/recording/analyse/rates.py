"""Allocations per second over time."""

from collections.abc import Sequence

from reap.recording.records import Point

_MOST_POINTS = 200
_SAMPLES_A_POINT = 10
"""On average, in triage: with fewer, one heavy sample is a peak of its own."""


def rates(
    moments: Sequence[tuple[float, float, float]], width: float, objects: int | None, samples: int
) -> list[Point]:
    """Folds (seconds, live bytes, allocations) bins of `width` seconds into a curve that can be believed.

    In triage (`samples` above 0) allocations are estimates: the curve is scaled so that it adds up to the
    `objects` that were counted, if they are given.
    """
    if not moments or width <= 0:
        return []
    most = min(_MOST_POINTS, max(samples // _SAMPLES_A_POINT, 1)) if samples else _MOST_POINTS
    step = -(-len(moments) // most)
    estimated = sum(count for _, _, count in moments)
    scale = objects / estimated if objects is not None and samples and estimated > 0 else 1.0
    points = []
    for start in range(0, len(moments), step):
        group = moments[start : start + step]
        count = sum(each for _, _, each in group) * scale
        points.append(Point(seconds=group[0][0], bytes=count / (width * len(group))))
    return points
