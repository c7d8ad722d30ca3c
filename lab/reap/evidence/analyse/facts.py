"""From what was seen of a program to the facts of the wall. Pure functions."""

import bisect
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from reap import native
from reap.base.records import Estimate
from reap.evidence.analyse import owners as wall_owners
from reap.evidence.analyse.owners import CALL_NAMES, Sample
from reap.evidence.analyse.turns import in_turn
from reap.evidence.records import (
    CALLS,
    OWNERS,
    CallCount,
    Collector,
    CollectorKind,
    Faults,
    Hot,
    Owner,
    Requests,
    Resident,
    Slab,
    Waiting,
)
from reap.launch.process.records import Moment
from reap.recording.analyse import estimates
from reap.recording.records import Latency, Point, Profile, Share
from reap.rss.analyse import take_apart

_PAGE = 4096
_MOST_HOT = 40
_ACCEPTS = (43, 288)
_READS = (0, 19, 45, 47)
_READS_A_CONNECTION = 3
"""More reads than so many a connection: it carries more than one request."""
_DISK_CALLS = frozenset({26, 74, 75, 277, 285, 162, 306})
"""msync, fsync, fdatasync, sync_file_range, fallocate, sync, syncfs."""
_NO_DISK_CALLS = frozenset({9, 10, 11, 12, 25, 28, 56, 57, 58, 60, 231, 435})
"""mmap, mprotect, munmap, brk, mremap, madvise, clone, fork, vfork, exit: they wait for the lock of the
address space, or for the child of a vfork."""
_NETWORK_CALLS = frozenset({7, 23, 42, 43, 44, 45, 46, 47, 232, 270, 271, 281, 288, 299, 307, 441})
"""poll, select, connect, accept, send, receive, epoll."""


def samples(watched: native.Watched) -> list[Sample]:
    """The samples by function."""
    return [Sample(*row) for row in watched.samples()]


def share(rows: Sequence[Sample], *, sees_kernel: bool) -> Share | None:
    """Of CPU time, executing in the allocator; None without samples."""
    every = sum(row.count for row in rows)
    if every == 0:
        return None
    inside = sum(row.count for row in rows if row.inside)
    return Share(
        method="perf",
        samples=every,
        inside=inside,
        kernel_inside=sum(
            row.count for row in rows if row.inside and row.kernel and not wall_owners.waits_for_lock(row)
        ),
        share=estimates.proportion(inside, every),
        sees_kernel=sees_kernel,
    )


def owners(rows: Iterable[Sample]) -> dict[str, int]:
    """Samples by who was executing; every owner is named."""
    found: Counter[str] = Counter()
    for row in rows:
        found[wall_owners.owner(row)] += row.count
    return {name: found[name] for name in OWNERS}


def locking(rows: Iterable[Sample]) -> int:
    """Samples in the allocator's locks, which are among those inside it."""
    return sum(row.count for row in rows if row.inside and wall_owners.waits_for_lock(row))


def filling(rows: Iterable[Sample]) -> int:
    """Samples in which blocks were cleared or copied for the allocator, outside the kernel."""
    return sum(row.count for row in rows if row.fills and not row.kernel)


def hot(rows: Iterable[Sample]) -> list[Hot]:
    """The functions with the most samples."""
    found: Counter[tuple[str, str, Owner]] = Counter()
    for row in rows:
        found[wall_owners.label(row), row.path, wall_owners.owner(row)] += row.count
    return [
        Hot(function=function, module=path.rpartition("/")[2], owner=owner, samples=count)
        for (function, path, owner), count in found.most_common(_MOST_HOT)
    ]


def allocator(rows: Iterable[Sample]) -> str:
    """Allocator with most of the samples inside an allocator; empty where there are none.

    Calls of the kernel are passed over: every allocator makes them through the C library.
    """
    found: Counter[str] = Counter()
    for row in rows:
        if row.inside and row.call is None:
            found[wall_owners.serves(row)] += row.count
    return found.most_common(1)[0][0] if found else ""


def faults(watched: native.Watched, *, minor: int, major: int) -> Faults:
    """Page faults: how many, and of those that were sampled who touched which page."""
    by = dict(watched.faults())
    seen = sum(by.values())
    return Faults(
        minor=minor,
        major=major,
        samples=seen,
        by_cause=by,
        in_allocator=estimates.proportion(by.get("allocator", 0), seen) if seen else None,
    )


def fresh_bytes(watched: native.Watched, minor: int) -> int:
    """Bytes of anonymous pages that the kernel provided beside stacks, by the sampled part of `minor`."""
    by = dict(watched.faults())
    seen = sum(by.values())
    fresh = by.get("allocator", 0) + by.get("heap", 0)
    return round(minor * _PAGE * fresh / seen) if seen else 0


def calls(watched: native.Watched) -> dict[str, CallCount] | None:
    """System calls for memory and locks by who made them, the recorder's left out; None if not watched."""
    if watched.sources().calls.errno:
        return None
    found = {(number, who): count for number, who, count in watched.calls()}
    return {
        name: CallCount(
            by_allocator=found.get((number, "allocator"), 0), by_others=found.get((number, "others"), 0)
        )
        for number, name in CALL_NAMES.items()
        if name in CALLS
    }


def requests(watched: native.Watched, profile: Profile) -> Requests:
    """Number of requests in the counted run, and of allocations for each.

    Marked requests where the program marks any, else connections that it accepted, or reads from sockets if
    there are several a connection: those can be counted for any server, but what is a request is a guess.
    """
    if profile.requests is not None and profile.requests.count:
        return Requests(
            unit="mark",
            count=profile.requests.count,
            allocations=round(profile.requests.allocations.mean * profile.requests.count),
            per_request=profile.requests.allocations.mean,
        )
    allocations = profile.totals.total_objects
    found: Counter[int] = Counter()
    for number, _, count in watched.calls():
        found[number] += count
    connections, reads = (sum(found[number] for number in numbers) for numbers in (_ACCEPTS, _READS))
    return guessed_requests(connections, reads, allocations)


def guessed_requests(connections: int, reads: int, allocations: int) -> Requests:
    """A connection is a request, or a read where there are several of these a connection."""
    if connections and reads <= _READS_A_CONNECTION * connections:
        return Requests(
            unit="connection",
            count=connections,
            allocations=allocations,
            per_request=allocations / connections,
        )
    if reads:
        return Requests(unit="read", count=reads, allocations=allocations, per_request=allocations / reads)
    return Requests(allocations=allocations)


def waiting(watched: native.Watched, wall_seconds: float, cpu_seconds: float) -> Waiting | None:
    """Thread-seconds by what was waited for; None where nobody looked."""
    totals = watched.totals()
    if totals.polls == 0:
        return None
    step = wall_seconds / totals.polls
    seconds: Counter[str] = Counter()
    for state, call, what, by_allocator, count in watched.waits():
        kind = _waited_for(state, call, what)
        seconds[kind] += count
        if kind == "lock" and by_allocator:
            seconds["allocator_lock"] += count
    turns = in_turn(watched, cpu_seconds / wall_seconds if wall_seconds > 0 else 0.0)
    if (by_turns := turns.waits - seconds["lock"]) > 0:  # the rest are semaphores and conditions
        seconds["lock"] += by_turns
        seconds["other"] = max(0, seconds["other"] - by_turns)
    return Waiting(
        lock_on_allocator=_on_allocator(totals.on_lock),
        other_on_allocator=_on_allocator(totals.on_other),
        lock=seconds["lock"] * step,
        disk=seconds["disk"] * step,
        network=seconds["network"] * step,
        other=seconds["other"] * step,
        turns=turns.threads,
        allocator_lock=seconds["allocator_lock"] * step,
        polls=totals.polls,
        idle=(totals.polls - totals.busy_polls) * step,
    )


def _on_allocator(awaited: native.Awaited) -> Estimate | None:
    """Of the samples of threads that others waited for, those in the allocator, by how many waited."""
    if not awaited.samples or not awaited.waiters:
        return None
    return estimates.proportion(awaited.inside / awaited.waiters * awaited.samples, awaited.samples)


def _waited_for(state: str, call: int | None, what: str) -> str:
    if what == "lock":
        return "lock"
    if what == "socket" or (what != "other" and call in _NETWORK_CALLS):
        return "network"
    if what == "file" or call in _DISK_CALLS or (state == "D" and call not in _NO_DISK_CALLS):
        return "disk"
    return "other"


def resident(watched: native.Watched, *, peak: int) -> Resident:
    """Memory at its peak, late and at the end, of the run that nothing entered."""
    points, polls = watched.resident(), watched.memory()
    lazy: Counter[float] = Counter()
    for at, _, _, _, held in polls:
        if held is not None:
            lazy[at] += held
    # The kernel's own maximum may be some pages behind what it counts in the mappings.
    return Resident(
        peak=max([peak, *(high for _, _, high, _, _ in polls), *(level for _, level in points)]),
        end=points[-1][1] if points else 0,
        late=_late(dict(points)) or 0,
        lazy_free=_late(lazy),
    )


def free_in_heap(counted: native.Watched, live: Sequence[Point]) -> int | None:
    """About what the heap holds late in the run and no block does: a reason to ask the allocator.

    Of the counted run, whose live bytes are estimated over time; None where nobody looked. Only the heap that
    brk has grown: what a runtime maps for itself is not the allocator's.
    """
    held: Counter[float] = Counter()
    for at, _, _, heap, _ in counted.memory():
        if heap is not None:
            held[at] += heap
    times = [point.seconds for point in live]
    free = {}
    for at, bytes_held in held.items():
        before = bisect.bisect_right(times, at)
        free[at] = max(0, round(bytes_held - (live[before - 1].bytes if before else 0.0)))
    return _late(free)


def trimmable(moments: Iterable[Moment]) -> int | None:
    """Free whole pages late in a run, as glibc said of its heap; None where it did not say.

    Of the process that had most. A moment says nothing where much was freed since the heap was walked.
    """
    found: dict[int, dict[float, int]] = {}
    for moment in moments:
        taken = take_apart(moment)
        pages = taken.parts.pinned + taken.parts.top
        if taken.said and taken.parts.heap <= max(pages, taken.parts.live):
            found.setdefault(moment.pid, {})[taken.seconds] = pages
    return max((late for levels in found.values() if (late := _late(levels)) is not None), default=None)


def _late(levels: Mapping[float, int]) -> int | None:
    """The median of what was seen in the second half of the time; None where nothing was."""
    if not levels:
        return None
    end = max(levels)
    return round(statistics.median_high(level for at, level in levels.items() if at >= end / 2))


def collectors(rows: Iterable[Sample], period: float) -> list[Collector]:
    """Garbage collectors that were sampled, with their CPU time: `period` seconds a sample."""
    found: Counter[CollectorKind] = Counter()
    for row in rows:
        kind = wall_owners.collector(row.function)
        if kind and not row.inside:
            found[kind] += row.count
    return [Collector(kind=kind, cpu_seconds=found[kind] * period) for kind in sorted(found)]


def with_heard(sampled: Sequence[Collector], heard: Collector | None) -> list[Collector]:
    """Collectors as samples saw them, with what one said of itself in a run of its own."""
    if heard is None:
        return list(sampled)
    own = next((each for each in sampled if each.kind == heard.kind), None)
    seconds = heard.cpu_seconds
    if own is not None and (seconds is None or heard.kind == "go"):
        # What Go calls CPU time is what passed on each of its threads, other programs' turns included.
        seconds = own.cpu_seconds
        heard = replace(heard, of_cpu_seconds=None)
    others = [each for each in sampled if each.kind != heard.kind]
    return [replace(heard, cpu_seconds=seconds), *others]


def slab(rows: Iterable[Sample], *, growth: int | None, names: bool) -> Slab:
    """The kernel's own allocator."""
    inside = sum(row.count for row in rows if row.kernel and wall_owners.in_slab(row))
    return Slab(growth=growth, samples=inside if names else None)


def latency(profile: Profile, bias: float) -> Latency | None:
    """Of malloc, as the recorder sampled it, less the `bias` nanoseconds that reading the clock adds."""
    found = next((each for each in profile.latencies if each.call == "malloc"), None)
    if found is None:
        return None
    less = {name: max(0.0, getattr(found, name) - bias) for name in ("p50", "p90", "p99", "p999")}
    return Latency(call=found.call, samples=found.samples, **less)


def folded(watched: native.Watched) -> list[str]:
    """Stacks as flame graphs are made of: frames from the outermost, joined by semicolons, and a count.

    Frames of the allocator end in `_[a]`, those of the kernel in `_[k]`, as in perf's and FlameGraph's tools.
    """
    names = [_frame(*frame) for frame in watched.frames()]
    found: Counter[str] = Counter()
    for stack, count in watched.stacks():
        found[";".join(names[place] for place in stack)] += count
    return [f"{stack} {count}" for stack, count in sorted(found.items())]


def _frame(function: str, path: str, inside: bool) -> str:
    if path == "[kernel]":
        number = function.removeprefix("[call ").removesuffix("]")
        known = number.lstrip("-").isdigit()
        called = CALL_NAMES.get(int(number), f"call {number}") if known else "fault or interrupt"
        return f"{called}_[k]"
    name = function or f"[{path.rpartition('/')[2] or 'unknown'}]"
    return name.replace(";", ":").replace(" ", "\u00a0") + ("_[a]" if inside else "")
