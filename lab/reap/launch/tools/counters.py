"""Cache misses that this machine's processor can count, in user mode, and their names there.

Each event is counted in a run of its own: while a heap is littered its thread counts, too, and no two events
should have to take turns on the processor's few counters.
"""

import shutil
from collections.abc import Mapping

import msgspec

from reap.launch import spawn
from reap.launch.litter.records import Event
from reap.launch.records import Launch, Misses

_HARDWARE, _CACHE = 0, 3
_L1D, _LAST, _DTLB = 0, 2, 3
_MISS = 1 << 16

EVENTS = {
    "instructions": Event(type=_HARDWARE, config=1),
    "first": Event(type=_CACHE, config=_L1D | _MISS),
    "last": Event(type=_CACHE, config=_LAST | _MISS),
    "accesses": Event(type=_CACHE, config=_L1D),
    "tlb": Event(type=_CACHE, config=_DTLB | _MISS),
}
"""By the field of `Misses`; of accesses and translations reads alone, as all processors count them."""

_NEEDED = ("instructions", "first", "last")


def counting(launch: Launch, name: str) -> Launch:
    """Launch with this one of EVENTS counted."""
    event = EVENTS[name]
    return msgspec.structs.replace(
        launch, options=[*launch.options, "--count", f"{event.type}:{event.config}"]
    )


def counts(name: str) -> bool:
    """Whether this one of EVENTS is counted here: tried, not guessed."""
    program = shutil.which("true") or "/bin/true"
    launch = Launch(argv=[program], program=program)
    return spawn.run(counting(launch, name)).events is not None


def here() -> list[str]:
    """Names of EVENTS that are counted here. Empty where one that is needed is not."""
    found = [name for name in EVENTS if counts(name)]
    return found if all(name in found for name in _NEEDED) else []


def misses(counts: Mapping[str, int | None]) -> Misses | None:
    """Misses by counts under the names of EVENTS; None if one that is needed is lacking."""
    instructions, first, last = (counts.get(name) for name in _NEEDED)
    if instructions is None or first is None or last is None:
        return None
    return Misses(
        instructions=instructions,
        first=first,
        last=last,
        accesses=counts.get("accesses"),
        tlb=counts.get("tlb"),
    )
