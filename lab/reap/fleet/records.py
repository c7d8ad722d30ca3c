"""Totals of many recordings. Sizes in bytes, times in seconds; of sampled recordings sites are estimates."""

from typing import Literal

from reap.base.records import Estimate, Record

By = Literal["service", "version", "site", "host"]
Measure = Literal["bytes", "allocations", "peak"]
Verdict = Literal["grew", "shrank", "the same", "inconclusive"]


class Skipped(Record):
    """A file that could not be read."""

    file: str
    why: str


class Group(Record):
    """The recordings of a service, a version or a host, or what was allocated at a site in all of them."""

    recordings: int
    """In which it occurs."""
    hosts: int
    seconds: float
    """Recorded in all of them together; of a site in all recordings, wherever it occurs."""
    allocations: float
    bytes: float
    peak_bytes: float | None
    """Most bytes in use, a site's at the program's peak: the mean over recordings. None of running processes.
    """
    service: str = ""
    """Of a service, and of a version, which is one of a service's."""
    version: str = ""
    host: str = ""
    function: str = ""
    """Of a site."""
    module: str = ""
    location: str = ""
    """Where most of a site's bytes are allocated; line numbers differ from version to version."""
    build_ids: int = 0
    """How many builds of its module the site was seen in."""


class Change(Record):
    """A rate a second, or the peak, in two versions: the mean over units."""

    before: float
    after: float
    change: Estimate
    """With its 95 % CI. Exact where it has none: a version with a single unit."""
    verdict: Verdict


class ChangedSite(Record):
    """A site in two versions."""

    function: str
    module: str
    location: str
    """In the newer version, unless it is gone."""
    change: Change


class Comparison(Record):
    """Two versions of a service."""

    service: str
    before: str
    after: str
    measure: Measure
    unit: Literal["host", "recording"]
    """What varies: means are taken over these. Hosts, where each version has enough of them."""
    units_before: int
    units_after: int
    total: Change
    sites: list[ChangedSite]
    """By the size of their change, largest first."""


class Fleet(Record):
    """All that was read, and its totals."""

    files: int
    skipped: list[Skipped]
    duplicates: int
    """Recordings that were in more than one file; each counts once."""
    recordings: int
    """Selected by --where."""
    hosts: int
    seconds: float
    allocations: float
    bytes: float
    sampled: int
    """Recordings whose sites are estimates from samples."""
    first: str
    """When the first one began, in UTC."""
    last: str
    by: By
    groups: list[Group]
    """By bytes, largest first."""
    left_out: int
    """Groups behind the last one here."""
    comparison: Comparison | None = None
