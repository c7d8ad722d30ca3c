"""Measurements of one program for its answer."""

from reap.base.records import Record
from reap.drag.exact.records import DragProfile
from reap.evidence.run import Measured
from reap.experiment.records import Comparison
from reap.recording.records import Profile


class Examined(Record):
    """Facts about a program, and the trials that were run on it."""

    command: list[str]
    again: list[str]
    """What names it on another command line: `--` and its command, or the options of a server."""
    known: Measured
    profile: Profile | None
    """None where its allocations could not be counted."""
    comparison: Comparison | None
    """None where no preload reaches what the program allocates."""
    causes: Comparison | None = None
    """None where there was no cause to tell apart."""
    missing: dict[str, str] = {}
    """Why an arm was not tried, a clause, by its name."""
    takes: float = 0.0
    """Seconds that trials would take, where none was run for that; else 0."""
    drag: DragProfile | None = None
    """None where it was not asked for, now or before."""
