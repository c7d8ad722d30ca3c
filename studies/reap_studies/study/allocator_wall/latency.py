"""Latencies that a program wrote, as an HdrHistogram and its percentiles."""

import math
from pathlib import Path

from reap.api import ReapError

LONGEST = 60_000_000_000
"""Nanoseconds: what takes longer counts as that."""
_DIGITS = 3


def read(raw: Path) -> tuple[dict[str, float], str]:
    """Percentiles in nanoseconds by name, and the histogram as V2 of the format has it.

    The file has 8 bytes of nanoseconds a request. Throws ReapError if it is not so, or has none.
    """
    import numpy as np
    from hdrh.histogram import HdrHistogram

    try:
        found = np.fromfile(raw, dtype=np.uint64)
    except OSError as error:
        raise ReapError(f"the latencies in {raw} cannot be read: {error.strerror}") from error
    if found.size == 0:
        raise ReapError("the program wrote no latencies", "run it without reap to see more")
    histogram = HdrHistogram(1, LONGEST, _DIGITS)
    # To the histogram's own precision first: each value then is recorded once, with how often it was there.
    clipped = np.clip(found, 1, LONGEST)
    values, times = np.unique(clipped, return_counts=True)
    for value, count in zip(values.tolist(), times.tolist(), strict=True):
        histogram.record_value(value, count)
    shares = {"p50_ns": 50, "p99_ns": 99, "p999_ns": 99.9}
    said = {name: float(histogram.get_value_at_percentile(share)) for name, share in shares.items()}
    said |= {"max_ns": float(histogram.get_max_value()), "mean_ns": float(found.mean())}
    if not all(math.isfinite(value) for value in said.values()):
        raise ReapError("the program wrote latencies that are no numbers")
    return said, histogram.encode().decode()
