"""Runs a program on a heap that was fragmented first, and takes that off the clock.

The layout of the litter file is lab/format/reap_litter.h; `_HEADER`, `_SIZE` and `_REPORT` are kept in step.
"""

import os
import struct
import tempfile
from pathlib import Path
from typing import Literal

import msgspec

from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.base.records import Record
from reap.launch import native_files, spawn
from reap.launch.host import memory
from reap.launch.litter.level import Level
from reap.launch.records import Launch, Outcome

VARIABLE = "REAP_LITTER"
"""By which a process finds the litter file."""

Order = Literal["random", "address", "reversed"]
ORDERS: tuple[Order, ...] = ("random", "address", "reversed")
"""By number, as enum reap_litter_order has them."""

DEFAULT_SEED = 1

_MAGIC = 0x315254494C504152
_VERSION = 1
_HEADER = struct.Struct("<QIIIIQQQQIIIIIIQQQIII12x")
_SIZE = struct.Struct("<QQ")
_REPORT = struct.Struct("<IIIIQQQQQQQQQQQQQQQI116s")
_SLOTS = 1024
_NEXT_REPORT = 72
"""Where the header counts the slots asked for; behind it, what was opened with RTLD_DEEPBIND."""
_MOST_SIZES = 65535
_MOST_COUNT = 1 << 47
_UNCOUNTED = (1 << 64) - 1
_MOST_NUMBER = 1 << 60
"""No time in nanoseconds and no size in bytes is as large."""
_STATES = ("unused", "begun", "done", "failed")
_FAILURES = ("", "the machine has not the memory", "no memory for the list of blocks", "malloc returned null")

_COUNTED = (
    "user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches",
)  # fmt: skip
"""What a littering reports of itself as the kernel does of the program."""

_BOOKKEEPING = 8
"""Bytes a block, while the litter is laid."""
_SMALLEST = 32
_HEAD = 16
"""No block of glibc takes less, and each begins on a multiple of this with half as much for itself."""
_ROUNDING = 1.25
"""What allocators with size classes take more, at most, for most sizes."""
_SPARE = 0.9
"""The share of the available memory that a litter may take."""


class Event(Record):
    """What a processor or the kernel can count, as perf_event_attr names it."""

    type: int
    config: int


class Litter(Record):
    """What a heap is littered with, and how."""

    level: Level
    sizes: list[tuple[int, int]]
    """(size, count): objects are drawn in proportion to the counts."""
    peak: int
    """Most objects that the program has in use at once."""
    threads: int = 1
    """How many threads share the litter evenly: the first, and those that it or they create next."""
    seed: int = DEFAULT_SEED
    order: Order = "random"
    """In which order blocks are given back."""
    touch: bool = True
    """Write to every page of the litter, as a program does that uses its memory."""
    children: bool = False
    """Litter the programs that the program executes, too. (What it forks inherits its heap anyway.)"""

    @property
    def objects(self) -> int:
        """How many are allocated."""
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
    """What one thread did before it, or its program, began. Times in nanoseconds, memory in bytes."""

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
    """Its creator did not wait to the end: the thread got nowhere meanwhile, as where its malloc wants a lock
    that the creator holds. Then the program ran beside, and no wall time is taken off."""
    events: int | None = None
    """How often the event happened that was to be counted; None if it was not counted."""
    failure: str = ""
    """Why nothing stays allocated, in words; empty if it went well."""


class Littered(Record):
    """A run on a littered heap."""

    outcome: Outcome
    """What the program itself cost: time and faults of the littering are taken off. The peak of resident
    memory cannot be: it is that of litter and program together."""
    gross: Outcome
    """As the kernel accounts for it."""
    litterings: list[Littering]
    """By process and thread, in the order they began; those lost are counted."""
    lost: int = 0
    """Litterings that found no room to report: nothing of them is taken off."""
    deepbind: int = 0
    """How often something was opened with RTLD_DEEPBIND, whose malloc is past every preload."""
    uncounted: int = 0
    """Processes that littered and for which nobody waited: the kernel counts neither their litter nor what
    they did, so that only the first process's is taken off."""
    overwritten: bool = False
    """The program wrote where it should not have, and what it reported cannot be believed: nothing of it is
    taken off."""


def resident_added(litterings: list[Littering]) -> dict[int, int]:
    """Bytes of resident memory by which each process grew through its litter.

    Its first thread has measured its own; the others' share is taken to be as large for what it keeps.
    """
    added = {}
    for first in litterings:
        if first.thread == 0 and first.kept_bytes:
            kept = sum(each.kept_bytes for each in litterings if each.pid == first.pid)
            grown = max(first.resident_after - first.resident_before, 0)
            added[first.pid] = round(grown * kept / first.kept_bytes)
    return added


def require_memory(litter: Litter) -> None:
    """Throws ReapError, with the sum, if the litter would not fit into the memory of this machine."""
    free = memory.available()
    if litter.needed <= free * _SPARE:
        return
    objects = litter.objects
    raise ReapError(
        f"{litter.level.name} needs about {units.size(litter.needed)}, and {units.size(free)} of memory are "
        f"available here (of which it may take {units.percent(_SPARE)})\n"
        f"  the sum: {litter.level.multiplier:g} x {units.whole(litter.peak)} live objects = "
        f"{units.whole(objects)} objects of about {units.size(litter.needed / objects)} with bookkeeping",
        "choose a lower level or --multiplier, or give the program a smaller input",
        ExitCode.FAILED,
    )


def run(launch: Launch, litter: Litter, *, image: str = "", event: Event | None = None) -> Littered:
    """Runs the program with its heap littered before anything of it runs. Throws what `spawn.run` throws.

    `image` is the ELF file that is meant, where others (`env` in the first line of a script) are executed on
    the way to it; without it what is executed first is littered. The outcome's `events` are those of `event`,
    where the machine counts it. Throws ReapError if the litter would not fit
    into memory, or cannot be described.
    """
    require_memory(litter)
    # As long a path every time: its length would shift the program's stack.
    with tempfile.TemporaryDirectory(prefix="reap-litter-") as folder:
        file = Path(folder) / "litter"
        place = _write(file, litter, image, event, over_glibc=not launch.allocator)
        littered = msgspec.structs.replace(
            launch,
            preloads=[str(native_files.preload("fragment")), *launch.preloads],
            environment={**launch.environment, VARIABLE: str(file)},
            options=[*launch.options, *(["--count", f"{event.type}:{event.config}"] if event else [])],
        )
        gross = spawn.run(littered)
        return _read(file.read_bytes(), place, gross)


def _write(file: Path, litter: Litter, image: str, event: Event | None, *, over_glibc: bool) -> int:
    """Returns where its slots begin."""
    sizes = sorted(litter.sizes)
    total = sum(count for _, count in sizes)
    if litter.objects and not sizes:
        raise ReapError("there are no sizes to litter with", "take a profile of a program that allocates")
    if len(sizes) > _MOST_SIZES or max(total, litter.objects) > _MOST_COUNT:
        raise ReapError(
            f"{units.whole(len(sizes))} sizes of {units.whole(max(total, litter.objects))} objects are more "
            "than a litter file can describe",
            "choose a lower level, or a profile with a lower cut-off",
        )
    place = _HEADER.size + len(sizes) * _SIZE.size
    meant = Path(image).stat() if image else None
    header = _HEADER.pack(
        _MAGIC,
        _VERSION,
        len(sizes),
        place,
        _SLOTS,
        litter.objects,
        litter.level.kept(litter.peak),
        litter.seed % 2**64,
        litter.needed,
        ORDERS.index(litter.order),
        litter.touch,
        litter.children,
        max(litter.threads, 1),
        0,
        0,
        meant.st_dev if meant else 0,
        meant.st_ino if meant else 0,
        event.config if event else 0,
        event.type if event else 0,
        event is not None,
        over_glibc,
    )
    data = header + b"".join(_SIZE.pack(size, count) for size, count in sizes)
    try:
        with file.open("wb") as stream:
            stream.write(data)
            # The space, too: a process that writes to a mapped hole on a full disk dies of it.
            os.posix_fallocate(stream.fileno(), 0, place + _SLOTS * _REPORT.size)
    except OSError as error:
        raise ReapError(
            f"the litter file {file} cannot be written: {error.strerror}", "set TMPDIR to a folder with room"
        ) from error
    return place


def _read(data: bytes, place: int, gross: Outcome) -> Littered:
    """What the slots say, if nobody else wrote there."""
    asked, deepbind = struct.unpack_from("<II", data, _NEXT_REPORT)
    slots = [_REPORT.unpack_from(data, place + at * _REPORT.size) for at in range(min(asked, _SLOTS))]
    if not all(_sound(slot) for slot in slots):
        return Littered(outcome=gross, gross=gross, litterings=[], overwritten=True)
    litterings = [_littering(slot) for slot in slots if slot[0] != _STATES.index("unused")]
    outcome, uncounted = _net(gross, litterings)
    return Littered(
        outcome=outcome,
        gross=gross,
        litterings=litterings,
        lost=max(asked - _SLOTS, 0),
        deepbind=deepbind,
        uncounted=uncounted,
    )


def _sound(slot: tuple[int, ...]) -> bool:
    state, failure, _, _, *numbers, _, _, _, beside, _ = slot
    return beside < 2 and state < len(_STATES) and failure < len(_FAILURES) and max(numbers) < _MOST_NUMBER


def _littering(slot: tuple[int, ...]) -> Littering:
    state, failure, pid, thread, *numbers, events, voluntary, involuntary, beside, provider = slot
    said = _FAILURES[failure]
    names = ("objects", "bytes", "kept", "kept_bytes", "begin_ns", "end_ns", "user_ns", "system_ns",
             "minor_faults", "major_faults", "resident_before", "resident_after")  # fmt: skip
    return msgspec.convert(
        {
            **dict(zip(names, numbers, strict=True)),
            "pid": pid,
            "thread": thread,
            "provider": bytes(provider).partition(b"\0")[0].decode(errors="replace"),
            "voluntary_switches": voluntary,
            "involuntary_switches": involuntary,
            "beside": beside == 1,
            "events": None if events == _UNCOUNTED else events,
            "failure": "the process ended while it littered" if _STATES[state] == "begun" else said,
        },
        Littering,
    )


def _net(gross: Outcome, litterings: list[Littering]) -> tuple[Outcome, int]:
    """The outcome without what the litterings cost, and the number of processes whose litter is not in it.

    Wall time is less by every moment in which some thread littered: its creator waits meanwhile, so that this
    is exact unless other threads or processes of the program run beside. The kernel counts a process only for
    a parent that waits for it. Which did is not known; but a litter of children that nobody waited for has
    more faults than the kernel has counted for all.
    """
    net = _less(gross, litterings)
    if litterings and net.minor_faults < 0:
        first = [each for each in litterings if each.pid == litterings[0].pid]
        uncounted = len({each.pid for each in litterings}) - 1
        if uncounted:
            return _least(_less(gross, first)), uncounted
    return _least(net), 0


def _less(gross: Outcome, litterings: list[Littering]) -> Outcome:
    def total(name: str) -> int:
        return sum(getattr(each, name) for each in litterings)

    return msgspec.structs.replace(
        gross,
        wall_ns=gross.wall_ns - _covered([each for each in litterings if not each.beside]),
        events=_net_events(gross, litterings),
        **{name: getattr(gross, name) - total(name) for name in _COUNTED},
    )


def _least(outcome: Outcome) -> Outcome:
    """Clocks of the kernel and of a thread differ by a tick: nothing is below 0."""
    least = {name: max(getattr(outcome, name), 0) for name in ("wall_ns", *_COUNTED)}
    return msgspec.structs.replace(outcome, **least)


def _net_events(gross: Outcome, litterings: list[Littering]) -> int | None:
    counts = [each.events for each in litterings]
    if gross.events is None or None in counts:
        return None
    return max(gross.events - sum(count for count in counts if count is not None), 0)


def _covered(litterings: list[Littering]) -> int:
    """The length of the union of their times."""
    covered, until = 0, 0
    for each in sorted(litterings, key=lambda each: each.begin_ns):
        begin = max(each.begin_ns, until)
        if each.end_ns > begin:
            covered += each.end_ns - begin
            until = each.end_ns
    return covered
