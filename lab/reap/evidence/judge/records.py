"""The verdict of `run` and `wall`: a conclusion, what proves it, and what was not tried."""

from typing import Literal

from reap.answer.records import Evidence
from reap.base.records import Record
from reap.evidence.analyse.suspicions.records import Cause, Remedy
from reap.experiment.records import Ratio
from reap.recording.records import Pattern

Conclusion = Literal[
    "leave it alone",
    "switch the allocator",
    "change a setting",
    "change a setting or the allocator",
    "allocate less",
    "little to gain",
    "inconclusive",
]
"""`change a setting or the allocator`: both gain, and none clearly more. `allocate less`: a malloc that costs
next to nothing gains, and no allocator that exists does. `little to gain`: a gain is proven that may or may
not be worth a change: its interval holds what is worth one, and ends below twice that."""

Status = Literal["proven", "minor", "refuted", "inconclusive", "not tried"]


MOST_TOLD = 3
"""Findings on a screen."""


class Finding(Record, frozen=True, kw_only=True):
    """A cause, and what a trial said of it."""

    cause: Cause
    status: Status
    """`proven`: with the cause taken away the program was faster (or smaller), as measured; `minor`: it was,
    by less than is worth a change; `refuted`: it was not; `inconclusive`: tried, in too few rounds or too
    much noise."""
    weight: float = 0.0
    """The part of the time (of memory, for causes of memory) that evidence attributes to it: 0 to 1."""
    trial: str = ""
    """The arm that says so; empty where none was tried."""
    gain: Ratio | None = None
    """What that arm measured; None where none was tried."""
    sentence: str
    """Cause, status, and the gain with its interval, or the reason why nothing was tried."""
    statements: list[Evidence] = []
    """The evidence that points to it."""
    by_hand: list[Remedy] = []
    """What a person can do about it."""


class Bound(Record, frozen=True, kw_only=True):
    """The most that any change to allocation gave: the best of the preloads that price it, and allocators."""

    arm: str
    ratio: Ratio


class Diagnosis(Record, frozen=True, kw_only=True):
    """Verdict on what allocation costs a program, and on what is to be done."""

    headline: Conclusion
    paragraph: str
    """Plain words, with the figures and their intervals."""
    findings: list[Finding] = []
    """Proven causes first, then those that were not tried or not decided, then minor and refuted ones."""
    patterns: list[Pattern] = []
    """Ways of allocating that the recording shows, and that a change of the program removes."""
    bound: Bound | None = None
    """None where no pair shows what a change to allocation could give."""
    evidence: list[Evidence]
    next_step: str
    """What to try next, in a sentence."""
    next_command: str
    """The exact command for it, or empty."""

    @property
    def told(self) -> list[Finding]:
        """The findings for a screen: proven causes, then open ones; minor and refuted ones are details."""
        return [each for each in self.findings if each.status not in ("minor", "refuted")][:MOST_TOLD]
