"""The answer of `reap run`: what was measured, and one paragraph, its evidence, the next command."""

from typing import Literal

from reap.answer.records import Evidence
from reap.base.records import Record
from reap.drag.exact.records import DragProfile
from reap.evidence.records import Collector
from reap.experiment.records import Comparison
from reap.recording.records import Profile


class Diagnosis(Record, frozen=True, kw_only=True):
    """What limits a program, as far as memory allocation goes."""

    headline: Literal[
        "leave it alone",
        "switch the allocator",
        "allocate less",
        "inconclusive",
    ]
    paragraph: str
    """Plain words, with the figures and their intervals."""
    evidence: list[Evidence]
    next_step: str
    """What to try next, in a sentence."""
    next_command: str
    """The exact command for it, or empty."""


class Measured(Record):
    """What was measured of a program."""

    command: list[str]
    again: list[str]
    """What names it on another command line: `--` and its command, or the options of a server."""
    profile: Profile
    comparison: Comparison
    collections: list[Collector]
    """Its garbage collectors."""
    drag: DragProfile | None = None
    """None where it was not asked for, now or before."""
