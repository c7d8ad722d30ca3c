"""Facts of programs as a run would leave them, a cause each, for the tests of what judges and draws them."""

from typing import Any

from msgspec.structs import replace as changed
from samples import MIB, share_of

from reap.evidence.records import (
    CallCount,
    Collector,
    Counted,
    Faults,
    Hot,
    Requests,
    Resident,
    Waiting,
    Wall,
)
from reap.recording.analyse.growth import Growth
from reap.recording.records import SizeBin


def counted(allocations: int, size: int = 64) -> Counted:
    """So many blocks of about one size."""
    return Counted(
        allocations=allocations,
        frees=allocations,
        bytes=allocations * size,
        seconds=2.0,
        cpu_seconds=2.0,
        peak_bytes=1e6,
        temporary=0.5,
        sizes=[SizeBin(low=size // 2 + 1, high=size, objects=allocations, bytes=allocations * size)],
        calls={"malloc": allocations},
    )


def wall_of(share: float = 0.02, *, kernel: float = 0.0, samples: int = 2000, **changes: Any) -> Wall:
    """Two seconds on one processor; `kernel` is the part of time with page faults outside the allocator."""
    inside = round(share * samples)
    owners = {"allocator": inside, "kernel_fault": round(kernel * samples)}
    owners["other"] = samples - sum(owners.values())
    fields: dict[str, Any] = {
        "command": ["./server", "--selftest"],
        "allocator": "glibc",
        "wall_seconds": 2.0,
        "cpu_seconds": 2.0,
        "threads": 1,
        "share": share_of(share, 0.02, samples, kernel_inside=0),
        "owners": owners,
        "kernel": True,
        "faults": Faults(minor=2000, samples=200, by_cause={"heap": 150, "allocator": 50}),
        "calls": {name: CallCount() for name in ("brk", "mmap", "munmap", "mremap", "madvise", "futex")},
        "waiting": Waiting(polls=1000, allocator_lock=0.0),
        "resident": Resident(peak=20 * MIB, end=20 * MIB),
    }
    return Wall(**{**fields, **changes})


def calls(**counts: int) -> dict[str, CallCount]:
    """System calls of the allocator; `others_NAME` are of others."""
    names = ("brk", "mmap", "munmap", "mremap", "madvise", "futex")
    return {
        name: CallCount(by_allocator=counts.get(name, 0), by_others=counts.get(f"others_{name}", 0))
        for name in names
    }


def hot(function: str, samples: int, owner: Any = "other") -> Hot:
    """A function in which samples were."""
    return Hot(function=function, module="/usr/bin/server", owner=owner, samples=samples)


THRASHED = Faults(minor=360_000, samples=900, by_cause={"heap": 500, "allocator": 400})

WALLS: dict[str, Wall] = {
    "tcache overflow": wall_of(0.6, counted=counted(30_000_000)),
    "large blocks": wall_of(0.6, counted=counted(30_000_000, 4096)),
    "arena lock": wall_of(
        0.35,
        counted=counted(8_000_000, 2048),
        threads=4,
        calls=calls(futex=60_000, others_futex=9),
        waiting=Waiting(lock=3.1, allocator_lock=3.0, polls=1000),
    ),
    "brk thrash": wall_of(
        0.1,
        kernel=0.6,
        counted=counted(800_000, 8192),
        faults=THRASHED,
        calls=calls(brk=40_000, mmap=20),
        resident=Resident(peak=3 * MIB, end=3 * MIB),
    ),
    "mmap thrash": wall_of(
        0.3,
        kernel=0.4,
        counted=counted(160_000, 262_144),
        faults=THRASHED,
        calls=calls(brk=3, mmap=160_000, munmap=160_000),
        resident=Resident(peak=4 * MIB, end=4 * MIB),
    ),
    "page faults": wall_of(
        0.01,
        kernel=0.85,
        counted=counted(45, 48 * MIB),
        faults=Faults(minor=540_000, samples=900, by_cause={"heap": 890, "file": 10}),
        calls=calls(mmap=45, munmap=45),
        resident=Resident(peak=50 * MIB, end=3 * MIB),
    ),
    "many allocations": wall_of(0.3, counted=counted(60_000_000)),
    "pin at the top": wall_of(
        0.03,
        kernel=0.04,
        resident=Resident(peak=170 * MIB, end=165 * MIB, trimmable=160 * MIB),
        counted=changed(counted(84_000, 2000), peak_bytes=160.0 * MIB),
        faults=Faults(minor=42_000, samples=60, by_cause={"heap": 60}),
    ),
    "clearing and copying": changed(wall_of(0.6, counted=counted(20_000, 1 << 20)), filling=1100),
    "growing memory": wall_of(
        0.05,
        growth=Growth(half=80.0 * MIB, end=160.0 * MIB),
        resident=Resident(peak=160 * MIB, end=160 * MIB),
    ),
    "lazy free": wall_of(
        0.03, allocator="jemalloc", resident=Resident(peak=170 * MIB, end=165 * MIB, lazy_free=150 * MIB)
    ),
    "garbage collection": wall_of(
        0.04, collections=[Collector(kind="cpython", count=1800, pause_seconds=1.3, cpu_seconds=1.3)]
    ),
    "kernel input and output": changed(
        wall_of(0.01, requests=Requests(unit="read", count=5000, allocations=10_000, per_request=2.0)),
        owners={"allocator": 20, "kernel_io": 1200, "other": 780},
    ),
    "a lock of its own": wall_of(
        0.0,
        cpu_seconds=1.6,
        threads=4,
        calls=calls(others_futex=30_000),
        waiting=Waiting(lock=5.0, allocator_lock=0.0, polls=1000),
    ),
    "disk": wall_of(
        0.0, cpu_seconds=0.09, samples=90, waiting=Waiting(disk=1.8, allocator_lock=0.0, polls=1000)
    ),
    "network": wall_of(
        0.0, cpu_seconds=0.04, samples=40, waiting=Waiting(network=1.9, allocator_lock=0.0, polls=1000)
    ),
    "nothing": wall_of(0.002, counted=counted(100)),
    "few samples": wall_of(0.3, samples=60),
}
"""By the cause that each must be suspected of; QUIET names those that point to none."""

QUIET = frozenset({"nothing", "few samples"})
