"""Part of a program's CPU time that its samples cover. Pure."""

from collections.abc import Iterable

from reap.evidence.analyse.owners import Sample


def unsampled(rows: Iterable[Sample], recorder: int, cpu_seconds: float, period: float) -> float | None:
    """Part of `cpu_seconds` that no sample covers; None without CPU time.

    A sample stands for `period` seconds, those in the recorder too.
    """
    if cpu_seconds <= 0:
        return None
    samples = sum(row.count for row in rows) + recorder
    return min(1.0, max(0.0, 1.0 - samples * period / cpu_seconds))
