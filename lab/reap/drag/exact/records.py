"""Results of a drag recording. Sizes in bytes; time is bytes allocated so far.

An object takes part in every step from its allocation to its free, and is needed in every step from its
allocation to its last access; a step lasts as many bytes as it allocates. Accesses in the step in which an
object is freed may use it, or only free it: each level is counted with them, and again without. Areas are
bytes times bytes, exact, and may exceed 64 bits: they are decimal numbers in text.
"""

from typing import Literal

from reap.base.records import Record


class Tally(Record):
    """Objects and their bytes."""

    objects: int
    bytes: int


class DragPoint(Record):
    """An interval of the curves."""

    at: float
    """Where it begins, in bytes allocated."""
    live: float
    """Mean bytes in use."""
    needed: float
    """Mean bytes in use if every object had been freed right after its last access."""
    most_live: float
    most_needed: float


class DragSite(Record):
    """Allocation site, and what its objects drag."""

    function: str
    location: str
    module: str
    stack: list[str]
    """That of the most bytes, innermost first."""
    objects: int
    bytes: int
    live_area: str
    needed_area: str
    share: float
    """Of all that is dragged (0 to 1)."""
    live_at_peak: int
    dragged_at_peak: int
    """Bytes in use at the program's peak that were not accessed again."""
    never: Tally
    """Objects that were neither read nor written."""
    write_only: Tally
    """Objects that were written and never read."""
    released: Tally
    """Objects that were last accessed in the step in which they were freed, and are older."""
    saves: int | None = None
    """Bytes by which the peak would fall if its objects, and no others, were freed at their last access; None
    where it was not worked out: they drag less at the peak than those for which it was."""
    dragged: list[float] | None = None
    """Mean bytes that they drag in each interval of the curves, for the sites that drag most."""
    via: str = ""
    """What the site called, as of a recording's sites; else empty."""


class DragLevel(Record):
    """One view of what a process allocated."""

    name: Literal["objects", "chunks"]
    """`objects`: what the program requested; a block from which a pool carves objects does not count, and its
    objects do. `chunks`: the blocks of the malloc family, whatever is in them, and mappings that objects are
    put into."""
    total: Tally
    drag: float
    """Area under the bytes in use over the area under those needed; the minimum is 1."""
    live_area: str
    needed_area: str
    peak: int
    """Most bytes in use."""
    needed_peak: int
    """Most bytes if every object had been freed right after its last access."""
    peak_ratio: float
    peak_at: int
    never: Tally
    write_only: Tally
    released: Tally
    """Objects that were last accessed in the step in which they were freed, and are older."""
    curve: list[DragPoint]
    sites: list[DragSite]
    """By what they drag, most first."""
    before_free: "DragLevel | None" = None
    """The same where those accesses do not count; None where that changes nothing."""


class DragProcess(Record):
    """One process image that allocated something."""

    pid: int
    parent: int
    command: list[str]
    forked: bool
    """It began with a fork; what it inherited is not counted."""
    end: Literal["exited", "exec", "killed"]
    levels: list[DragLevel]
    """Objects first; chunks only where pools were seen."""
    notes: list[str] = []


class DragProfile(Record):
    """Everything that `reap drag` says of a run."""

    command: list[str]
    engine: Literal["exact", "recompiled"]
    status: int
    """The program's own, as a shell would show it."""
    processes: list[DragProcess]
    """By the bytes that they allocated, most first."""
    notes: list[str] = []
