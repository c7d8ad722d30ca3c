"""What every answer is made of."""

from typing import Literal

from reap.base.records import Record


class Evidence(Record, frozen=True, kw_only=True):
    """One measured fact behind the verdict."""

    statement: str
    """A sentence with its figure and interval."""
    source: Literal["recording", "comparison", "sampling", "simulation", "machine", "kernel", "runtime"]
