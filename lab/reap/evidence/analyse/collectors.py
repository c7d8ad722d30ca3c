"""Reports of garbage collectors on themselves, as figures, and their costs."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from reap import native
from reap.evidence.records import Collector, CollectorKind, Wall

_GO = re.compile(
    rb"^gc \d+ @[\d.]+s \d+%: (?P<stop>[\d.]+)\+[\d.]+\+(?P<mark>[\d.]+) ms clock, (?P<cpu>[\d.+/]+) ms cpu,",
    re.MULTILINE,
)
"""A line of gctrace: stop, mark beside the program, stop again; then the same as CPU time."""

_JVM = re.compile(rb"\bGC\((?P<number>\d+)\) Pause .*?(?P<ms>[\d.]+)ms\s*$", re.MULTILINE)
"""A pause in the unified log of Java 9 and later."""

_OLD_JVM = re.compile(rb"\[(?:Full )?GC [^\]]*?(?P<seconds>[\d.,]+) secs\]", re.MULTILINE)
"""The same before that."""


_V8 = re.compile(rb"^(?P<count>\d+) (?P<us>\d+)\n", re.MULTILINE)
"""What one thread of Node.js wrote until then, again and again: collections, microseconds in them."""


def collector(kind: CollectorKind, said: Sequence[bytes]) -> Collector | None:
    """Figures that a run's collector reported.

    None where it reported nothing: it had nothing to collect, or the program did not let it.
    """
    text = b"\n".join(said)
    if kind == "cpython":
        return _of_cpython(said)
    if kind == "v8":
        return _of_v8(said)
    return _of_go(text) if kind == "go" else _of_jvm(text)


def _of_cpython(said: Sequence[bytes]) -> Collector | None:
    used = [slot for each in said for slot in native.read_collections(each)]
    if not used:
        return None
    seconds = sum(slot.ns for slot in used) / 1e9
    # CPython collects in the thread that allocates: a pause is CPU time.
    return Collector(
        kind="cpython", count=sum(slot.count for slot in used), pause_seconds=seconds, cpu_seconds=seconds
    )


def _of_go(text: bytes) -> Collector | None:
    lines = list(_GO.finditer(text))
    if not lines:
        return None
    return Collector(
        kind="go",
        count=len(lines),
        pause_seconds=sum(_number(each["stop"]) + _number(each["mark"]) for each in lines) / 1e3,
        cpu_seconds=sum(_number(part) for each in lines for part in re.split(rb"[+/]", each["cpu"])) / 1e3,
    )


def _of_jvm(text: bytes) -> Collector | None:
    new = list(_JVM.finditer(text))
    old = list(_OLD_JVM.finditer(text))
    if not new and not old:
        return None
    seconds = sum(_number(each["ms"]) for each in new) / 1e3
    seconds += sum(_number(each["seconds"].replace(b",", b".")) for each in old)
    return Collector(
        kind="jvm", count=len({each["number"] for each in new}) + len(old), pause_seconds=seconds
    )


def _of_v8(said: Sequence[bytes]) -> Collector | None:
    threads = [found[-1] for each in said if (found := list(_V8.finditer(each)))]
    count = sum(int(each["count"]) for each in threads)
    if not count:
        return None
    return Collector(kind="v8", count=count, pause_seconds=sum(int(each["us"]) for each in threads) / 1e6)


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def with_shares(wall: Wall) -> Wall:
    """The facts with the parts of CPU time and of the time that passed of each collector.

    Each of the run in which it was seen or heard, else of the sampled one.
    """
    shares = [
        replace(
            each,
            cpu_share=_part(each.cpu_seconds, each.of_cpu_seconds or wall.cpu_seconds),
            stopped_share=_part(each.pause_seconds, each.of_seconds or wall.wall_seconds),
        )
        for each in wall.collections
    ]
    return replace(wall, collections=shares)


def _part(part: float | None, whole: float) -> float | None:
    return None if part is None or whole <= 0 else min(1.0, max(0.0, part) / whole)
