"""The litter file: written before the program starts, and read when it has ended.

Its layout is lab/format/reap_litter.h; `_HEADER`, `_SIZE` and `_REPORT` are kept in step.
"""

import os
import struct
from pathlib import Path

import msgspec

from reap.base import units
from reap.base.errors import ReapError
from reap.launch.litter import account
from reap.launch.litter.records import ORDERS, Event, Litter, Littered, Littering
from reap.launch.records import Outcome

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


def write(file: Path, litter: Litter, image: str, event: Event | None, *, over_glibc: bool) -> int:
    """Writes the litter file and returns where its slots begin. Throws ReapError."""
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


def read(data: bytes, place: int, gross: Outcome) -> Littered:
    """What the slots say, which begin at `place`, if nobody else wrote there."""
    asked, deepbind = struct.unpack_from("<II", data, _NEXT_REPORT)
    slots = [_REPORT.unpack_from(data, place + at * _REPORT.size) for at in range(min(asked, _SLOTS))]
    if not all(_sound(slot) for slot in slots):
        return Littered(outcome=gross, gross=gross, litterings=[], overwritten=True)
    litterings = [_littering(slot) for slot in slots if slot[0] != _STATES.index("unused")]
    outcome, uncounted = account.net(gross, litterings)
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
