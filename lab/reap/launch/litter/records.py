"""Littering of a heap, as asked for and as it was done."""

from typing import Literal

from reap.base.records import Record
from reap.launch.litter.level import Level
from reap.launch.records import Outcome

Order = Literal["random", "address", "reversed"]
ORDERS: tuple[Order, ...] = ("random", "address", "reversed")
"""By number, as enum reap_litter_order has them."""

DEFAULT_SEED = 1

_BOOKKEEPING = 8
"""Bytes a block, while the litter is laid."""
_SMALLEST = 32
_HEAD = 16
"""No block of glibc takes less, and each begins on a multiple of this with half as much for itself."""
_ROUNDING = 1.25
"""What allocators with size classes take more, at most, for most sizes."""


class Event(Record):
    """Event that a processor or the kernel can count, as perf_event_attr names it."""

    type: int
    config: int


class Litter(Record):
    """Objects that a heap is littered with, and the order of their frees."""

    level: Level
    sizes: list[tuple[int, int]]
    """(size, count): sizes are sampled in proportion to the counts."""
    peak: int
    """Most objects that the program has in use at once."""
    threads: int = 1
    """How many threads share the litter evenly: the first, and those that it or they create next."""
    seed: int = DEFAULT_SEED
    order: Order = "random"
    """In which order blocks are freed."""
    touch: bool = True
    """Write to every page of the litter, as a program does that uses its memory."""
    children: bool = False
    """Litter the programs that the program executes, too. (What it forks inherits its heap anyway.)"""

    @property
    def objects(self) -> int:
        """Number of objects that are allocated."""
        return self.level.objects(self.peak)

    @property
    def needed(self) -> int:
        """Bytes that a process will take for it at most, as far as one can say for any allocator."""
        total = sum(count for _, count in self.sizes)
        if not self.objects or not total:
            return 0
        taken = sum(max(_SMALLEST, -(-(size + _HEAD // 2) // _HEAD) * _HEAD) * n for size, n in self.sizes)
        return round(self.objects * (taken / total * _ROUNDING + _BOOKKEEPING))


class Littering(Record):
    """Littering by one thread before it, or its program, began. Times in nanoseconds, memory in bytes."""

    pid: int
    thread: int
    """0 for the first of its process."""
    objects: int
    bytes: int
    kept: int
    kept_bytes: int
    begin_ns: int
    end_ns: int
    user_ns: int
    system_ns: int
    minor_faults: int
    major_faults: int
    resident_before: int
    """Of the process; known of its first thread alone, as the next."""
    resident_after: int
    provider: str
    """The end of the path of the file that serves malloc."""
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    beside: bool = False
    """Its creator did not wait to the end, because the thread was blocked, for example in malloc by a lock
    that the creator holds. The program ran meanwhile, so no wall time is subtracted."""
    events: int | None = None
    """How often the event happened that was to be counted; None if it was not counted."""
    failure: str = ""
    """Why no litter stays allocated, in words; empty if it succeeded."""


class Littered(Record):
    """A run on a fragmented heap."""

    outcome: Outcome
    """The cost of the program itself: time and faults of the littering are subtracted. Peak resident memory
    is that of litter and program together."""
    gross: Outcome
    """As the kernel accounts for it."""
    litterings: list[Littering]
    """By process and thread, in the order they began; those lost are counted."""
    lost: int = 0
    """Litterings that had no space to report: their cost is not subtracted."""
    deepbind: int = 0
    """How often something was opened with RTLD_DEEPBIND: no preload sees its malloc."""
    uncounted: int = 0
    """Processes that littered and for which nobody waited: the kernel counts neither their litter nor their
    work, so only the first process's litter is subtracted."""
    overwritten: bool = False
    """The program wrote where it should not have, so its report is invalid: nothing is subtracted."""
