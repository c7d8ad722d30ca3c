"""A moment as lines of text."""

from reap.base import units
from reap.base.text import printable, shortened
from reap.recording.records import SizeBin
from reap.show.live.records import Moment, SiteNow

_SITE = 40


def mark(moment: Moment) -> str:
    """~ where what sites have is estimated."""
    return "" if moment.depth == "full" else "~"


def estimate(moment: Moment, value: float) -> str:
    """Bytes that are exact in full depth and else estimated, where ~ says so."""
    return f"{mark(moment)}{units.size(value)}"


def counted(moment: Moment, figure: str) -> str:
    """A figure of all allocations: estimated of an attached process alone, where ~ says so."""
    if moment.depth != "attached":
        return figure
    return f"~{figure}" if moment.samples else units.UNKNOWN


def rate(moment: Moment) -> str:
    """Allocations a second."""
    return counted(moment, units.count(moment.allocations_per_second))


def live(moment: Moment, value: float) -> str:
    """Bytes in use; a dash where nothing is known of them."""
    return units.UNKNOWN if moment.depth == "attached" else estimate(moment, value)


def method(moment: Moment) -> str:
    """Method by which the figures shown are known."""
    if moment.depth == "full":
        return "every event, exact"
    if moment.depth == "attached":
        return f"by uprobes, all estimated from {units.samples(moment.samples)}"
    return f"triage: counts exact, ~ from {units.samples(moment.samples)}"


def resident(moment: Moment) -> str:
    """Resident memory; a dash before it was measured."""
    return units.size(moment.resident) if moment.resident else units.UNKNOWN


def site_name(site: SiteNow) -> str:
    """Its function and where that is."""
    name = printable(site.function)
    return name if site.location in {"", site.function} else f"{name} ({printable(site.location)})"


def size_name(size: SizeBin) -> str:
    """Its range, as `17-32 B`."""
    if size.low == size.high:
        return units.size(size.high)
    return (
        f"{units.whole(size.low)}-{units.size(size.high)}"
        if size.high < 1024
        else f"≤ {units.size(size.high)}"
    )


def line(moment: Moment) -> str:
    """One line of the plain output."""
    parts = [
        f"{moment.seconds:7.1f} s",
        f"{rate(moment)} allocations/s",
        f"{counted(moment, units.size(moment.bytes_per_second))}/s",
        f"live {live(moment, moment.live_bytes)}",
        f"resident {resident(moment)}",
    ]
    if moment.large_sites:
        parts.append(f"most bytes: {shortened(site_name(moment.large_sites[0]), _SITE)}")
    elif moment.live_sites:
        parts.append(f"most live: {shortened(site_name(moment.live_sites[0]), _SITE)}")
    if moment.behind:
        parts.append("reading on")
    return "  ".join(parts)


def summary(moment: Moment) -> list[str]:
    """Summary for the end of the watching."""
    done = (
        f"{units.duration(moment.seconds)}: {units.number(moment.allocations, 'allocation')}, "
        f"{units.size(moment.bytes)}, {units.number(moment.frees, 'free')}"
    )
    most = f"{live(moment, moment.peak_bytes)} live, {peak_resident(moment)} resident"
    return [f"{done}; at most {most} ({method(moment)})", *moment.notes]


def peak_resident(moment: Moment) -> str:
    """The most that was resident; a dash before it was measured."""
    return units.size(moment.peak_resident) if moment.peak_resident else units.UNKNOWN
