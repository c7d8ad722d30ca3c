"""The answer: one paragraph, its evidence, and the next command."""

from typing import Literal

from reap.base.records import Record


class Evidence(Record, frozen=True, kw_only=True):
    """One measured fact behind the verdict."""

    statement: str
    """A sentence with its figure and interval."""
    source: Literal["recording", "comparison", "sampling", "simulation", "machine", "kernel", "runtime"]


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
