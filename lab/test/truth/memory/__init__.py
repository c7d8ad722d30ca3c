"""Public reports of memory that stays, rebuilt as small programs: plain data, and how to measure by hand.

`measured.toml` has the settled memory of each with each remedy. Programs: ../../targets/truth/memory.
"""

from memory.handed import HANDED
from memory.more import MORE
from memory.records import Holding, arms, best, command, measured, others

HOLDINGS: tuple[Holding, ...] = (*HANDED, *MORE)
"""All cases."""

__all__ = ["HOLDINGS", "Holding", "arms", "best", "command", "measured", "others"]
