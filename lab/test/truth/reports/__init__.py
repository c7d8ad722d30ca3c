"""Public bug reports rebuilt as small programs, a file for each kind of verdict that was wrong: plain data.

What is stated of each was measured by hand: `measured.toml` has it. Programs: ../../targets/reports.
"""

from reports.growth import GROWTH
from reports.heldout import HELD_OUT
from reports.names import NAMES
from reports.records import Report, Truth, command, measured
from reports.remedies import REMEDIES
from reports.repeats import REPEATS
from reports.threads import THREADS

REPORTS: tuple[Report, ...] = (*NAMES, *REMEDIES, *THREADS, *GROWTH, *REPEATS, *HELD_OUT)
"""All cases, those held out last."""

__all__ = ["REPORTS", "Report", "Truth", "command", "measured"]
