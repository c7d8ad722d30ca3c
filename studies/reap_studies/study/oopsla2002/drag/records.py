"""What the study of OOPSLA 2002 sees of a workload under the exact drag engine."""

from typing import Literal

from reap.api import DragLevel, Record

Group = Literal["ordinary", "custom", "region"]
"""Those of Figure 7(a): general-purpose allocation; of its own, without region delete; with it."""


class Dragged(Record):
    """One way to look at what a workload allocates."""

    variant: str
    """Which was run."""
    marked: bool
    """Whether it was built so that its allocators report what they allocate."""
    level: DragLevel
    """Without what the C++ runtime sets aside; curve and sites only where they are drawn."""
