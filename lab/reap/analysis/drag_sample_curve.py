"""Bytes in use and bytes needed over allocation, by samples."""

from collections.abc import Iterable

import numpy as np

from reap.analysis.drag_sample_records import SampledPoint
from reap.trace.drag_sample_records import DragSamples

BINS = 100
"""Stretches: a few thousand samples have no finer tale to tell."""


def curve(file: DragSamples) -> list[SampledPoint]:
    """Means of each stretch of the bytes allocated. Costs a sort of the samples."""
    lives = ((each.birth, each.death or file.clock, each.stands) for each in file.samples)
    uses = ((each.birth, each.birth + each.used, each.stands) for each in file.samples)
    return [
        SampledPoint(live=live, needed=needed)
        for live, needed in zip(_means(lives, file.clock), _means(uses, file.clock), strict=True)
    ]


def _means(spans: Iterable[tuple[float, float, float]], end: int) -> list[float]:
    """The mean height of spans (begin, end, height) on each other, in each stretch up to `end`."""
    begins, ends, heights = np.array(list(spans), dtype=float).T
    times = np.concatenate([begins, ends])
    order = np.argsort(times, kind="stable")
    times = times[order]
    height = np.cumsum(np.concatenate([heights, -heights])[order])
    area = np.concatenate([[0.0], np.cumsum(height[:-1] * np.diff(times))])
    edges = np.linspace(0, end, BINS + 1)
    # Before the first and behind the last there is nothing, so that the area is level there.
    means = np.diff(np.interp(edges, times, area)) / (end / BINS)
    return [float(each) for each in np.maximum(means, 0.0)]
