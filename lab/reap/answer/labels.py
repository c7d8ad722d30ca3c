"""Labels of a sampled share of time and of sampled latencies, on a terminal and on a page."""

from reap.base import units
from reap.recording.records import Latency, Share

SHARE_NAME = "Time executing in the allocator (sampled)"


_SAMPLES_NEEDED = {"p50": 1, "p90": 10, "p99": 100, "p999": 1000}
"""Of fewer samples a percentile is the slowest of them, and says nothing."""


def percentiles(held: Latency) -> list[str]:
    """The median, and the percentiles 90, 99 and 99.9 as far as there are samples enough; else a dash."""
    return [
        units.duration(getattr(held, name) * 1e-9) if held.samples >= needed else units.UNKNOWN
        for name, needed in _SAMPLES_NEEDED.items()
    ]


def samples_of(held: Latency) -> str:
    """Number of samples, and what they are too few for."""
    said = units.samples(held.samples)
    few = [
        f"{name} needs {units.whole(_SAMPLES_NEEDED[key])}"
        for key, name in (("p99", "P99"), ("p999", "P99.9"))
        if held.samples < _SAMPLES_NEEDED[key]
    ]
    return "; ".join([said, *few])


def share_method(share: Share) -> str:
    """Method by which the share of time was sampled."""
    method = "perf events" if share.method == "perf" else "a timer"
    kernel = "" if share.sees_kernel else ", time in the kernel not seen"
    return f"{units.samples(share.samples)} by {method}{kernel}"


def share_figure(share: Share) -> str:
    """The share of time; where an allocator that is linked in has no symbols, what is known of it."""
    if not share.lower_bound:
        return units.percent(share.share.value)
    return f"at least {units.percent(share.share.low)}" if share.inside else "unknown"


def share_how(share: Share) -> str:
    """Remarks on that figure: its interval if it has one, and how it was sampled."""
    if share.lower_bound:
        return f"an allocator without symbols is linked in; {share_method(share)}"
    return f"95 % CI {units.percent_span(share.share.low, share.share.high)}; {share_method(share)}"
