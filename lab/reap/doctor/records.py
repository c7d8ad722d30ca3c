"""Findings of `reap doctor`, as plain data."""

from typing import Literal

from reap.base.records import Record

State = Literal["good", "poor", "bad"]
"""`poor`: measurements are possible, but less precise or less complete. `bad`: they are not."""


class Check(Record):
    """One thing that was checked."""

    name: str
    state: State
    says: str
    """What was found."""
    mend: str = ""
    """What to do about it, best as a command; empty where there is nothing to do."""
