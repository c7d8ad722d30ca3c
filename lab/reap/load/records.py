"""Load at a fixed rate, and its results: plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reap.base.records import Record

Protocol = Literal["http", "redis", "line"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A load."""

    protocol: Protocol
    host: str
    port: int
    requests: Sequence[bytes]
    """Taken in turns; `{n}` in them stands for the number of the request."""
    rate: float
    """Requests a second."""
    count: int
    """Requests in all."""
    connections: int
    keys: int
    """After how many requests `{n}` starts again at 0."""


class Times(Record):
    """Times of a load. Latency is from when a request was due, whenever it was sent, to its whole answer."""

    seconds: float
    """From when the first request was due to the last answer."""
    latencies: list[float]
    """In seconds, of every request, sorted."""
    late: list[float]
    """In seconds, sorted: how long after it was due, and a connection was free, each request was sent."""
    failed: int
    failure: str
    """The beginning of the first answer that was an error."""
