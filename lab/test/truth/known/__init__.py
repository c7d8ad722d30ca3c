"""Programs of which it is known by measurement what gains, and by construction why: plain data.

Each was written after a report of a real program, or after one that an earlier judge was wrong about. What a
verb says of one is held against its `Truth`. `measured.toml` has what each arm gave.
"""

from known import calls, held, kernel, linked, locks, placing, waiting
from known.records import Known, Truth, command, measured

CASES: tuple[Known, ...] = (
    *linked.CASES,
    *calls.CASES,
    *waiting.CASES,
    *kernel.CASES,
    *placing.CASES,
    *locks.CASES,
    *held.CASES,
)

__all__ = ["CASES", "Known", "Truth", "command", "measured"]
