"""Suspicions, and the arms that try them, for the tests of what judges and draws them."""

from typing import Any

import msgspec
from samples import MIB, ratio_of, side_of
from walls import WALLS

from reap.evidence.analyse.suspicions.records import Suspicion
from reap.evidence.analyse.suspicions.suspect import suspect
from reap.experiment.records import Side
from reap.recording.records import Pattern

CACHE = "larger thread caches"
"""A setting that is tried against an overflow of the thread cache."""
PURGING, TRIMMED = "jemalloc, purging in the background", "trimming the top sooner"
"""An allocator and a setting that are tried against a pin at the top."""
STEPS = Pattern(
    kind="constant-growth",
    function="push",
    location="a.c:7",
    via="",
    figures={},
    statement="each block replaces one that is 96 B smaller",
    advice="double the size",
)
"""A line of a recording, with what to change there."""
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def of(cause: str, weight: float | None = None) -> Suspicion:
    """The heaviest suspicion of the facts that point to this cause, with another weight if one is given."""
    held = suspect(WALLS[cause])[0]
    return held if weight is None else msgspec.structs.replace(held, weight=weight)


def price(name: str, cpu: float = 1.0, half: float = 0.01, **changes: Any) -> Side:
    """A preload that prices allocation, or takes one cost of it away."""
    fields = {"provider": f"/usr/lib/reap/libreap-price-{name}.so", **changes}
    return side_of(f"price: {name}", cpu, half, **fields)


def setting(name: str, cpu: float = 1.0, half: float = 0.01, **changes: Any) -> Side:
    """A variable that is tried under glibc."""
    return side_of(name, cpu, half, **{"provider": LIBC, **changes})


def resident(side: Side, late: float, half: float = 0.01) -> Side:
    """The same arm, with so much of the memory late in the run."""
    metrics = ("settled_resident", "mean_resident")
    seen = {metric: ratio_of(metric, late, half, baseline=180 * MIB) for metric in metrics}
    return msgspec.structs.replace(side, ratios={**side.ratios, **seen})
