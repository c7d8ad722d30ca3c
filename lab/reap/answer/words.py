"""Sentences about a recorded program, with figures in them. Every estimate has its interval beside it."""

from reap.base import units
from reap.recording.analyse.growth import Growth
from reap.recording.records import Share, Site


def share(measured: Share, who: str = "it") -> str:
    """The sampled share of time, named for what it is; `who` is the subject of the sentence."""
    kernel = "" if measured.sees_kernel else "; time in the kernel could not be sampled"
    value, low, high = measured.share.value, measured.share.low, measured.share.high
    bound = "at least " if measured.lower_bound else ""
    return (
        f"{who} spent {bound}{units.percent(value)} of its CPU time executing in the allocator "
        f"(95 % CI {units.percent_span(low, high)}, {units.samples(measured.samples)}{kernel})"
    )


def growth(grown: Growth) -> str:
    """That memory grew until the end, and where most of it was allocated."""
    said = (
        f"Resident memory grew until the end, from {units.size(grown.half)} at half of the time to "
        f"{units.size(grown.end)}: a leak, a cache without a limit, or data that the program needs"
    )
    if grown.site is None:
        return f"{said}."
    return f"{said}. About {units.percent(grown.part)} of it was allocated at {place(grown.site)}."


def place(site: Site) -> str:
    """A site's name and line."""
    return f"{site.function} ({site.location})" if site.function else site.location


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
