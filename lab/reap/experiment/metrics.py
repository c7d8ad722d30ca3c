"""Metrics that are compared, each of them one number of an outcome."""

import statistics
from collections.abc import Callable, Iterable

from reap.base.records import Record
from reap.experiment.records import Run
from reap.launch.records import Outcome

_BUSY = 0.9
"""Cores that a run which does not wait uses."""


class Metric(Record):
    """A number that runs have. Less of it is better, unless it says otherwise."""

    name: str
    unit: str
    """`s`, `bytes`, `count` or `per_second`."""
    quantum: float
    """The least step in which it is known, in the unit."""
    of: Callable[[Outcome], float]
    """Takes it from an outcome, in the unit."""
    more_is_better: bool = False
    alone: bool = False
    """Whether it says something only of runs that share their core with no other run."""
    in_turns: bool = False
    """Whether it says something of runs that took turns, too, as far as they do not wait."""
    resident: bool = False
    """Whether memory must have been sampled over a run's time for it to be known."""
    requests: int = 0
    """How many requests a run must have marked for it to be known; 0: every run has it."""
    served: bool = False
    """Whether it is of a server whose load made a known number of requests."""
    latency: str = ""
    """The field of `LoadLatency` that all loads of a server must have for it to be known."""

    def known(self, outcome: Outcome) -> bool:
        """Whether the outcome has it."""
        marked = outcome.requests.count if outcome.requests else 0
        return (
            marked >= self.requests
            and not (self.resident and outcome.mean_resident is None)
            and not (self.served and not outcome.served)
            and (not self.latency or _of_loads(outcome, self.latency) is not None)
        )


def _of_loads(outcome: Outcome, field: str) -> float | None:
    """The mean of what all loads of a server have; None where one has not."""
    found = [getattr(each.latency, field, None) for each in outcome.loads]
    values = [each for each in found if each is not None]
    return statistics.fmean(values) if values and len(values) == len(found) else None


_USUAL = (
    Metric(name="cpu", unit="s", quantum=1e-6, of=lambda outcome: outcome.cpu_ns / 1e9),
    Metric(
        name="wall",
        unit="s",
        quantum=1e-9,
        of=lambda outcome: outcome.wall_ns / 1e9,
        alone=True,
        in_turns=True,
    ),
    Metric(name="peak_resident", unit="bytes", quantum=4096, of=lambda outcome: outcome.peak_resident),
    Metric(name="minor_faults", unit="count", quantum=1, of=lambda outcome: outcome.minor_faults),
    Metric(name="major_faults", unit="count", quantum=1, of=lambda outcome: outcome.major_faults),
    Metric(
        name="voluntary_switches",
        unit="count",
        quantum=1,
        of=lambda outcome: outcome.voluntary_switches,
        alone=True,
    ),
    Metric(
        name="involuntary_switches",
        unit="count",
        quantum=1,
        of=lambda outcome: outcome.involuntary_switches,
        alone=True,
    ),
)


def _seconds(name: str) -> Callable[[Outcome], float]:
    return lambda outcome: getattr(outcome.requests, name) / 1e9


# Of fewer requests than `requests` a percentile is the slowest of them, and says less than it seems to.
_REQUESTS = (
    Metric(name="request_p50", unit="s", quantum=1e-9, of=_seconds("p50_ns"), requests=2, alone=True),
    Metric(name="request_p99", unit="s", quantum=1e-9, of=_seconds("p99_ns"), requests=100, alone=True),
    Metric(name="request_p999", unit="s", quantum=1e-9, of=_seconds("p999_ns"), requests=1000, alone=True),
    Metric(
        name="request_rate",
        unit="per_second",
        quantum=1e-9,
        of=lambda outcome: outcome.requests.per_second if outcome.requests else 0.0,
        more_is_better=True,
        requests=2,
        alone=True,
    ),
)
"""Of the requests that a program marks."""

_SERVED = (
    Metric(
        name="cpu_per_request",
        unit="s",
        quantum=1e-9,
        of=lambda outcome: outcome.cpu_ns / 1e9 / max(1, outcome.served),
        served=True,
    ),
    Metric(
        name="throughput",
        unit="per_second",
        quantum=1e-9,
        of=lambda outcome: _of_loads(outcome, "per_second") or outcome.served * 1e9 / max(1, outcome.wall_ns),
        more_is_better=True,
        alone=True,
        served=True,
    ),
)
"""Of a server under load. Servers that share a core take throughput from each other."""


def _latency(name: str, field: str) -> Metric:
    return Metric(
        name=name,
        unit="s",
        quantum=1e-9,
        of=lambda outcome: (_of_loads(outcome, field) or 0.0) / 1e9,
        alone=True,
        latency=field,
    )


_LATENCY = (
    _latency("latency_mean", "mean_ns"),
    _latency("latency_p50", "p50_ns"),
    _latency("latency_p99", "p99_ns"),
    _latency("latency_p999", "p999_ns"),
)
"""Of a server under a load at a fixed rate: for each start the mean of its loads. Servers that share a core
wait for each other."""

_RESIDENT = (
    Metric(
        name="mean_resident",
        unit="bytes",
        quantum=4096,
        of=lambda outcome: outcome.mean_resident or 0,
        resident=True,
    ),
    Metric(
        name="settled_resident",
        unit="bytes",
        quantum=4096,
        of=lambda outcome: outcome.settled_resident or 0,
        resident=True,
    ),
)

MEMORY = {"settled": "settled_resident", "mean": "mean_resident", "peak": "peak_resident"}
"""The metrics of the objectives that are memory."""

METRICS = (*_USUAL, *_SERVED, *_LATENCY, *_RESIDENT, *_REQUESTS)

ENOUGH_REQUESTS = max(metric.requests for metric in _REQUESTS)
"""For all of them."""


def named(name: str) -> Metric:
    """The metric of that name."""
    return next(each for each in METRICS if each.name == name)


def says(metric: Metric, run: Run) -> bool:
    """Whether the metric says something of runs that were paired as this one was."""
    if not metric.alone or not run.together:
        return True
    # One that waits does so in the turns of others, too.
    return run.in_turns and metric.in_turns and run.outcome.cpu_ns > _BUSY * run.outcome.wall_ns


def known(outcomes: Iterable[Outcome]) -> list[Metric]:
    """The metrics that all of these have."""
    every = list(outcomes)
    return [metric for metric in METRICS if all(metric.known(outcome) for outcome in every)]
