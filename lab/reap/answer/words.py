"""Sentences about a recorded program, with figures in them. Every estimate has its interval beside it."""

from reap.base import units
from reap.recording.analyse.growth import Growth
from reap.recording.records import Share, Site

_KNOWN = 0.005
"""A lower bound that is printed as a percentage of 1 or more."""


def share(measured: Share) -> str:
    """The sampled share of time; where an allocator without symbols is linked in, what is known of it."""
    kernel = "" if measured.sees_kernel else "; time in the kernel could not be sampled"
    value, low, high = measured.share.value, measured.share.low, measured.share.high
    samples = units.samples(measured.samples)
    if measured.lower_bound and low < _KNOWN:
        return f"How much of its CPU time the program spent in its allocator is unknown ({samples}{kernel})"
    spent = "of its CPU time executing in the allocator"
    if measured.lower_bound:
        return f"The program spent at least {units.percent(low)} {spent} ({samples}{kernel})"
    span = units.percent_span(low, high)
    return f"The program spent {units.percent(value)} {spent} (95 % CI {span}, {samples}{kernel})"


def growth(grown: Growth) -> str:
    """Sentence that memory grew until the end, and where most of it was allocated."""
    said = (
        f"Resident memory grew until the end, from {units.size(grown.half)} at half of the time to "
        f"{units.size(grown.end)}: a leak, a cache without a limit, or data that the program needs"
    )
    if grown.site is None:
        return f"{said}."
    chunks = f", in blocks of {units.size(grown.chunk)} that all stay, as a pool's do" if grown.chunk else ""
    return f"{said}. About {units.percent(grown.part)} of it was allocated at {place(grown.site)}{chunks}."


def place(site: Site) -> str:
    """A site's name and line."""
    known = site.function and site.function != site.location
    return f"{site.function} ({site.location})" if known else site.location


def listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
