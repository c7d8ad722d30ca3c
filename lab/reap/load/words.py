"""Results of a load, in lines that `reap.server.generators` reads, too."""

import math
import statistics
from collections.abc import Sequence

from reap.load.records import Asked, Times

_PERCENTILES = {"P50": 0.5, "P99": 0.99, "P99.9": 0.999}


def lines(asked: Asked, times: Times) -> list[str]:
    """The requests, their latency, and how punctual the load itself was."""
    count = len(times.latencies)
    # The last request has its interval, too: without it few requests would seem faster than they were due.
    rate = count / max(times.seconds, count / asked.rate)
    shown = [f"mean {_ms(statistics.fmean(times.latencies))}"]
    shown += [
        f"{name} {_ms(_rank(times.latencies, share))}"
        for name, share in _PERCENTILES.items()
        if share == _PERCENTILES["P50"] or count * (1 - share) >= 0.999
    ]
    shown.append(f"maximum {_ms(times.latencies[-1])}")
    answered = f"{rate:.1f}/s answered of {asked.rate:g}/s due"
    return [
        f"{count} requests, {times.failed} failed; {answered}, on {asked.connections} connections",
        f"latency from when each was due: {', '.join(shown)}",
        f"sent late by the generator itself: P99 {_ms(_rank(times.late, 0.99))}",
    ]


def _rank(ordered: Sequence[float], share: float) -> float:
    """The nearest rank: the value of a request."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"
