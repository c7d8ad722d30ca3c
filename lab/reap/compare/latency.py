"""Latency of a server under a load at a fixed rate: what is compared, and what limits it. Pure functions."""

import statistics
from collections.abc import Sequence

from reap.base import units
from reap.experiment.records import Run
from reap.launch.records import LoadLatency

LATENCY = ("latency_p50", "latency_p99", "latency_p999", "latency_mean")

_OVERLOADED = 0.98
"""Share of the requests that were due in a second and are answered, below which a queue grows."""
_LATE = 0.2
"""Share of the P99 latency from which on the lateness of the load itself is reported."""


def due_per_second(runs: Sequence[Run]) -> float:
    """The rate of the loads; 0 where they have none."""
    return next((each.due_per_second for each in _of(runs)), 0.0)


def notes(runs: Sequence[Run]) -> list[str]:
    """Reasons why latency depends on more than the server, a sentence each."""
    every = _of(runs)
    if not every:
        return []
    said = []
    share = min(each.per_second / each.due_per_second for each in every)
    if share < _OVERLOADED:
        said.append(
            f"a server was overloaded: in one load it answered {units.percent(share)} of the requests that "
            "were due in a second, so that latency depends on how long the load lasts; lower the rate"
        )
    late = statistics.median(each.late_ns for each in every)
    p99 = statistics.median(each.p99_ns or each.mean_ns for each in every)
    if late > _LATE * p99:
        said.append(
            f"the load itself sent requests late by {units.duration(late / 1e9)} (P99, median of the loads), "
            "which is in their latency: it had no core then. Fewer busy processes, or a lower rate, help"
        )
    return said


def _of(runs: Sequence[Run]) -> list[LoadLatency]:
    return [each.latency for run in runs for each in run.outcome.loads if each.latency]
