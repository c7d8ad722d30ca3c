"""Labels and figures of the wall, the same on a terminal and on the page."""

from reap.answer import labels
from reap.base import units
from reap.evidence.records import Collector, Owner, Wall

OWNERS: dict[Owner, str] = {
    "allocator": "the allocator",
    "collector": "a garbage collector",
    "lock": "locks",
    "kernel_fault": "the kernel, for page faults",
    "kernel_io": "the kernel, for input and output",
    "kernel_path": "the kernel, looking up file names",
    "kernel_slab": "the kernel, in its own allocator",
    "kernel_memory": "the kernel, mapping memory",
    "kernel_other": "the kernel, for other calls",
    "other": "everything else",
}
"""Who was executing, in words."""

COLLECTORS = {"cpython": "CPython", "go": "Go", "jvm": "the JVM", "v8": "V8"}


def tiles(wall: Wall) -> list[tuple[str, str, str]]:
    """Name, figure, and what is to be known of it."""
    share, requests, latency = wall.share, wall.requests, wall.latency
    sampled, how = units.UNKNOWN, "not sampled"
    if share:
        sampled = labels.share_figure(share)
        how = labels.share_how(share)
    made = units.count(requests.per_request) if requests.per_request is not None else units.UNKNOWN
    each = f"{requests.unit}s: {units.count(requests.count)}" if requests.unit else "no requests observed"
    _, _, p99, p999 = labels.percentiles(latency) if latency else [units.UNKNOWN] * 4
    slow = "not sampled"
    if latency:
        slow = f"99.9 %: {p999}" if p999 != units.UNKNOWN else labels.samples_of(latency)
    return [
        (labels.SHARE_NAME, sampled, how),
        ("Allocations per request", made, each),
        ("Minor page faults", units.count(wall.faults.minor), f"{units.count(wall.faults.major)} major"),
        ("malloc, 99 %", p99, slow),
        ("CPU time", units.duration(wall.cpu_seconds), f"of {units.duration(wall.wall_seconds)}"),
        ("Threads", units.count(wall.threads), wall.allocator and f"malloc from {wall.allocator}"),
        ("Peak resident", units.size(wall.resident.peak), f"at the end {units.size(wall.resident.end)}"),
        ("Waiting for locks", *_locks(wall)),
    ]


def waits(wall: Wall) -> list[tuple[str, str]]:
    """Waits of threads: what for, and how long; empty where that was not seen."""
    if wall.waiting is None:
        return []
    names = {"lock": "locks", "disk": "the disk", "network": "the network", "other": "anything else"}
    return [(words, units.duration(getattr(wall.waiting, name))) for name, words in names.items()]


def calls(wall: Wall) -> list[tuple[str, str, str]]:
    """System calls: name, by the allocator, by others."""
    return [
        (name, units.whole(count.by_allocator), units.whole(count.by_others))
        for name, count in (wall.calls or {}).items()
        if count.total
    ]


def owners(wall: Wall) -> list[tuple[Owner, str, float, int]]:
    """Owners with samples: key, words, part of the samples, samples; most first."""
    every = sum(wall.owners.values())
    held = [(name, words, wall.owners.get(name, 0)) for name, words in OWNERS.items()]
    most_first = sorted(held, key=lambda each: -each[2])
    return [(name, words, count / every, count) for name, words, count in most_first if count > 0]


def faults(wall: Wall) -> list[tuple[str, str]]:
    """Places of page faults, as parts of those that were seen."""
    names = {
        "allocator": "in the allocator's own code",
        "heap": "fresh memory, touched by the program",
        "stack": "stack",
        "file": "mapped files",
    }
    seen = sum(wall.faults.by_cause.values())
    most_first = sorted(wall.faults.by_cause.items(), key=lambda each: -each[1])
    return [(names.get(name, name), units.percent(count / seen)) for name, count in most_first if count > 0]


def collector(held: Collector) -> str:
    """Activity of a collector, in a line."""
    said = [units.number(held.count, "collection") if held.count is not None else ""]
    said.append(f"{units.duration(held.pause_seconds)} stopped" if held.pause_seconds is not None else "")
    said.append(f"{units.duration(held.cpu_seconds)} of CPU time" if held.cpu_seconds is not None else "")
    return f"{COLLECTORS[held.kind]}: {', '.join(filter(None, said))}"


def _locks(wall: Wall) -> tuple[str, str]:
    if wall.waiting is None:
        return units.UNKNOWN, "not seen"
    own = wall.waiting.allocator_lock
    whose = "owner unknown" if own is None else f"{units.duration(own)} for the allocator's"
    return units.duration(wall.waiting.lock), whose
