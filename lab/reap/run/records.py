"""The answer of `reap run`: one paragraph, its evidence, and the next command."""

from typing import Literal

from reap.answer.records import Evidence
from reap.base.records import Record
from reap.drag.exact.records import DragProfile
from reap.experiment.records import Comparison
from reap.recording.records import Profile


class Diagnosis(Record, frozen=True, kw_only=True):
    """What holds a program back, as far as memory allocation goes."""

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


class Findings(Record):
    """What is known of a program."""

    profile: Profile
    comparison: Comparison
    diagnosis: Diagnosis
    drag: DragProfile | None = None
    """None where it was not asked for, now or before."""
