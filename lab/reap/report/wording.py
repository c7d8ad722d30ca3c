"""What figures are called and how they are read: said once, for the terminal and for the page."""

from reap.base import units
from reap.base.text import printable
from reap.compare.phrases import METRICS
from reap.experiment.records import Pairing, Ratio, Side
from reap.recording.records import Latency, Share

SHARE_NAME = "Time executing in the allocator (sampled)"

BELOW_ONE = (
    "Ratios are to the baseline: below 1 is less of it (better), above 1 is more. Each has its 95 % interval."
)

CANNOT_TELL = "Cannot tell: the interval holds 1, so that the difference may be chance."

DISTRUST = (
    "(!) marks figures that are not to be trusted: the allocator was not in use, or the program "
    "behaved differently."
)

REQUESTS = "Of requests a second more is better."

NOISE = "Noise is the baseline against itself in the same rounds: what is within it is no difference."


def paired(held: Pairing) -> str:
    """How the runs of a round were paired, and why where it was not asked for."""
    if held.method == "simultaneous":
        return "Runs of a round shared one core at the same time: wall time was not compared."
    why = f": {printable(held.reason)}" if held.reason else ""
    return f"Runs of a round were made one after another{why}."


def metric_name(metric: str) -> str:
    """What people call a metric."""
    return METRICS.get(metric, metric.replace("_", " "))


def verdict_word(ratio: Ratio) -> str:
    """The verdict of one ratio."""
    words = (
        {"better": "more", "worse": "less"} if ratio.more_is_better else {"better": "less", "worse": "more"}
    )
    return words.get(ratio.verdict, "inconclusive")


def trust(side: Side) -> str:
    """Whether the allocator was really used and the program did the same work, in a few words."""
    if not side.verified:
        return "NOT VERIFIED"
    words = ["verified"]
    if not side.same_exit:
        words.append("OTHER EXIT STATUS")
    words.append(
        {True: "same output", False: "OTHER OUTPUT", None: "output varies by itself"}[side.same_output]
    )
    return ", ".join(words)


_SAMPLES_NEEDED = {"p50": 1, "p90": 10, "p99": 100, "p999": 1000}
"""Of fewer samples a percentile is the slowest of them, and says nothing."""


def percentiles(held: Latency) -> list[str]:
    """The median, and the percentiles 90, 99 and 99.9 as far as there are samples enough; else a dash."""
    return [
        units.duration(getattr(held, name) * 1e-9) if held.samples >= needed else units.UNKNOWN
        for name, needed in _SAMPLES_NEEDED.items()
    ]


def samples_of(held: Latency) -> str:
    """How many samples there are, and what they are too few for."""
    said = units.samples(held.samples)
    few = [
        f"{name} needs {units.whole(_SAMPLES_NEEDED[key])}"
        for key, name in (("p99", "P99"), ("p999", "P99.9"))
        if held.samples < _SAMPLES_NEEDED[key]
    ]
    return "; ".join([said, *few])


def share_method(share: Share) -> str:
    """How the share of time was sampled."""
    method = "perf events" if share.method == "perf" else "a timer"
    kernel = "" if share.sees_kernel else ", time in the kernel not seen"
    return f"{units.samples(share.samples)} by {method}{kernel}"
