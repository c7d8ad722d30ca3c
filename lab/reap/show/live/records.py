"""State of a recording at one moment of its making."""

from typing import Literal

from reap.base.records import Record
from reap.recording.records import SizeBin

Depth = Literal["triage", "full", "attached"]
"""In triage live bytes and what sites have are estimated from samples; allocations are counted. Of a process
that is watched by uprobes all is estimated, and nothing is known of live bytes."""


class SiteNow(Record):
    """An allocation site: what it has in use, and its rates since the last moment."""

    function: str
    location: str
    """`file:line`, or `module+0x1234` without debug information."""
    live_bytes: float
    allocations: float
    """Per second."""
    bytes: float
    """Allocated per second."""


class Moment(Record):
    """The whole process tree, from the recording's beginning to now, and rates since the last moment."""

    depth: Depth
    command: list[str]
    """As the recording names it; empty before the program has begun."""
    seconds: float
    """Since the recording began."""
    allocations: int
    bytes: int
    """That were allocated."""
    frees: int
    allocations_per_second: float
    bytes_per_second: float
    live_bytes: float
    peak_bytes: float
    """The most that was live."""
    samples: int
    """Behind the estimates; 0 in full depth."""
    resident: int
    """Resident memory as the launcher measured it last, or of an attached process now; 0 before that."""
    peak_resident: int
    running: int
    """Processes that run."""
    processes: int
    """Process images that began: a fork or an exec makes one."""
    sizes: list[SizeBin]
    """Of all allocations so far."""
    live_sites: list[SiteNow]
    """Those with most bytes in use first."""
    busy_sites: list[SiteNow]
    """Those with most allocations since the last moment first."""
    large_sites: list[SiteNow] = []
    """Those with most bytes since the last moment first, where nothing is known of live bytes."""
    behind: bool = False
    """What was written is not all read yet."""
    over: bool = False
    """Nothing more comes."""
    notes: list[str] = []
    """What a reader must know: damage, events that are missing."""
