"""Bytes in use and bytes needed over allocation, by samples."""

from collections.abc import Iterable

import numpy as np

from reap.drag.sample.records import SampledPoint
from reap.drag.sample.samples import DragSamples

_LEAST, _MOST = 10, 100
"""Stretches of the curves."""
_EACH = 20
"""Samples for a stretch: fewer would draw themselves, and not what they stand for."""


def curve(file: DragSamples) -> list[SampledPoint]:
    """Means of each stretch of the bytes allocated, none where samples are few. Costs a sort of them."""
    bins = min(_MOST, len(file.samples) // _EACH)
    if bins < _LEAST:
        return []
    lives = ((each.birth, each.death or file.clock, each.stands) for each in file.samples)
    uses = ((each.birth, each.birth + each.used, each.stands) for each in file.samples)
    return [
        SampledPoint(live=live, needed=needed)
        for live, needed in zip(_means(lives, file.clock, bins), _means(uses, file.clock, bins), strict=True)
    ]


def _means(spans: Iterable[tuple[float, float, float]], end: int, bins: int) -> list[float]:
    """The mean height of spans (begin, end, height) on each other, in each stretch up to `end`."""
    begins, ends, heights = np.array(list(spans), dtype=float).T
    times = np.concatenate([begins, ends])
    order = np.argsort(times, kind="stable")
    times = times[order]
    height = np.cumsum(np.concatenate([heights, -heights])[order])
    area = np.concatenate([[0.0], np.cumsum(height[:-1] * np.diff(times))])
    edges = np.linspace(0, end, bins + 1)
    # Before the first and behind the last there is nothing, so that the area is level there.
    means = np.diff(np.interp(edges, times, area)) / (end / bins)
    return [float(each) for each in np.maximum(means, 0.0)]
