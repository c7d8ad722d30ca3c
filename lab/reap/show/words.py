"""Labels and figures of a profile, the same on a terminal and on the page."""

from msgspec.structs import replace

from reap.answer import labels
from reap.base import units
from reap.base.records import Estimate
from reap.base.text import branches, printable
from reap.recording.analyse.coverage import sentence
from reap.recording.analyse.frames import with_via
from reap.recording.records import (
    Attached,
    Caller,
    LifetimeBin,
    Pattern,
    PatternKind,
    PerRequest,
    Profile,
    Site,
    Totals,
)

_FORMS = {"bytes": units.size, "share": units.percent, "count": units.count}


def value(held: Estimate, show: str) -> str:
    """The value alone, an estimate with a mark: `12 MiB`, `~12 MiB`. `show` is bytes, share or count."""
    return ("" if held.exact else "~") + _FORMS[show](held.value)


def span(held: Estimate, show: str) -> str:
    """The interval of an estimate, `11 MiB to 13 MiB`; empty where the value was counted."""
    form = _FORMS[show]
    return "" if held.exact else f"{form(held.low)} to {form(held.high)}"


def estimate(held: Estimate, show: str) -> str:
    """Both: a counted value as it is, an estimate as `~12 MiB (11 MiB to 13 MiB)`."""
    return value(held, show) + ("" if held.exact else f" ({span(held, show)})")


def share_of_all(held: Estimate) -> tuple[str, str]:
    """A site's share of all, and its interval: `77 %` and `74 to 80 %`; empty if counted."""
    return units.percent(held.value), "" if held.exact else units.percent_span(held.low, held.high)


def attached_rows(profile: Profile, attached: Attached) -> list[tuple[str, str]]:
    """Totals of processes that were watched from outside, and what that cost them."""
    totals = profile.totals
    share = units.percent(attached.share)
    unknown = (
        "calls are seen in windows of time"
        if attached.from_start or attached.beside
        else "blocks may be older than the recording"
    )
    cores = f"{units.percent(attached.cpu_within)} within windows"
    if attached.share < 1:
        cores += f", {units.percent(attached.cpu_between)} between"
    return [
        ("Total objects", f"~{units.count(totals.total_objects)}"),
        ("Average size", f"~{units.size(totals.average_size)}"),
        ("Total bytes", f"~{units.size(totals.total_bytes)}"),
        ("In use, lifetimes", f"not known: {unknown}"),
        ("Watched", f"{share} of the time, in {units.number(attached.windows, 'window')}"),
        ("Overhead", f"{units.percent(attached.overhead)} of its CPU time"),
        ("Cores it used", cores),
    ]


def linked_profile(profile: Profile) -> Profile | None:
    """Calls of linked allocators as a profile of their own; None where none were watched."""
    linked = profile.linked
    if linked is None:
        return None
    totals = replace(
        profile.totals,
        total_objects=linked.objects,
        average_size=linked.bytes / linked.objects if linked.objects else 0.0,
        total_bytes=linked.bytes,
    )
    return replace(
        profile,
        depth="triage",
        totals=totals,
        attached=linked.attached,
        samples=linked.samples,
        sites=linked.sites,
        calls=linked.calls,
        notes=linked.notes,
        linked=None,
    )


def coverage_rows(profile: Profile) -> list[tuple[str, str]]:
    """Share of the program that was recorded, in one row; none of a recording from outside."""
    return [("Coverage", sentence(profile.coverage))] if profile.coverage else []


def totals_rows(totals: Totals) -> list[tuple[str, str]]:
    """The columns of Table 3 (OOPSLA 2002), but for the share of time."""
    return [
        ("Total objects", units.whole(totals.total_objects)),
        ("Most in use at once", estimate(totals.max_objects, "count")),
        ("Average size", units.size(totals.average_size)),
        ("Total bytes", units.size(totals.total_bytes)),
        ("Most bytes in use", estimate(totals.max_bytes, "bytes")),
        ("Turnover (all bytes / peak)", units.ratio(totals.total_over_max)),
    ]


def share_text(profile: Profile) -> str:
    """The share of time with its interval and how it was sampled, or that there is none."""
    share = profile.share
    if share is None:
        return "not sampled"
    return f"{labels.share_figure(share)} ({labels.share_how(share)})"


def caller_lines(site: Site) -> list[str]:
    """Callers of a site, a line each in a tree, with shares of what the site allocates."""
    drawn = branches([caller.depth for caller in site.callers])
    return [f"{branch} {_caller(caller, site)}" for branch, caller in zip(drawn, site.callers, strict=True)]


def _caller(caller: Caller, site: Site) -> str:
    share = units.percent(min(1.0, caller.bytes / site.bytes) if site.bytes > 0 else 0.0)
    place = "" if caller.location == caller.function else f" ({caller.location})"
    return printable(f"{share} {caller.function}{place}")


def size_label(low: int, high: int) -> str:
    """A bin of sizes: `17 to 32 B`."""
    if high < 1024:
        return f"{low} to {high} B" if low != high else f"{low} B"
    return f"{units.size(low)} to {units.size(high)}"


def lifetime_label(held: LifetimeBin) -> str:
    """A bin of lifetimes: `10 µs to 100 µs`, `never freed`."""
    if held.high is None:
        return "never freed"
    if held.low <= 0:
        return f"under {units.duration(held.high)}"
    return f"{units.duration(held.low)} to {units.duration(held.high)}"


def overview(profile: Profile) -> dict[str, str]:
    """The most bytes in use at once, and the share of time where it was sampled."""
    share = {"share": units.percent(profile.share.share.value)} if profile.share else {}
    return {"most": value(profile.totals.max_bytes, "bytes"), **share}


_PATTERNS: dict[PatternKind, str] = {
    "temporaries": "Temporaries of one line",
    "constant-growth": "Growth by a constant step",
    "growing-pool": "A pool that only grows, or a leak",
    "overflowing-resource": "A memory resource that overflows",
    "unoptimized": "Compiled without optimisation",
}


def pattern(seen: Pattern) -> tuple[str, str, str]:
    """The name of a pattern, its line, and what it is with what to change."""
    where = with_via(f"{seen.function} ({seen.location})", seen.via)
    said = f"{seen.statement[:1].upper()}{seen.statement[1:]}. To change it: {seen.advice}."
    return _PATTERNS[seen.kind], printable(where), printable(said)


REQUEST_COLUMNS = ("mean", "P50", "P99", "max")
"""Of what a request allocates, behind the name and the number of requests."""


def request_rows(profile: Profile) -> list[list[str]]:
    """Allocations of marked requests: a row for blocks and one for bytes, of all and of each phase."""
    marked = profile.requests
    if marked is None:
        return []
    rows = _request_pair("", marked.count, marked.allocations, marked.bytes)
    for each in marked.phases:
        phase = printable(each.phase) or "(no phase yet)"
        rows += _request_pair(f"{phase}: ", each.count, each.allocations, each.bytes)
    return rows


def _request_pair(phase: str, count: int, blocks: PerRequest, size: PerRequest) -> list[list[str]]:
    return [
        [f"{phase}{name}", units.whole(count), *(show(value) for value in (of.mean, of.p50, of.p99, of.max))]
        for name, of, show in (("allocations", blocks, units.mean), ("bytes", size, units.size))
    ]
