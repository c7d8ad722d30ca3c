"""What is compared: one number of an outcome each, less of which is better."""

from collections.abc import Callable

from reap.launch.records import Outcome
from reap.records import Record


class Metric(Record):
    """A number that every run has."""

    name: str
    unit: str
    """`s`, `bytes` or `count`."""
    quantum: float
    """The least step that the kernel reports, in the unit."""
    of: Callable[[Outcome], float]
    """Takes it from an outcome, in the unit."""


METRICS = (
    Metric(name="cpu", unit="s", quantum=1e-6, of=lambda outcome: outcome.cpu_ns / 1e9),
    Metric(name="wall", unit="s", quantum=1e-9, of=lambda outcome: outcome.wall_ns / 1e9),
    Metric(name="peak_resident", unit="bytes", quantum=4096, of=lambda outcome: outcome.peak_resident),
    Metric(name="minor_faults", unit="count", quantum=1, of=lambda outcome: outcome.minor_faults),
    Metric(name="major_faults", unit="count", quantum=1, of=lambda outcome: outcome.major_faults),
    Metric(name="voluntary_switches", unit="count", quantum=1, of=lambda outcome: outcome.voluntary_switches),
    Metric(
        name="involuntary_switches", unit="count", quantum=1, of=lambda outcome: outcome.involuntary_switches
    ),
)
