"""The causes that are no allocator's: from facts to suspicions, one small function each."""

from reap.answer.records import Evidence
from reap.base import units
from reap.evidence.analyse.suspicions import remedies
from reap.evidence.analyse.suspicions import thresholds as at
from reap.evidence.analyse.suspicions.causes import Rule
from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.records import Suspicion
from reap.evidence.records import Collector, Owner

_OF_CALLS: tuple[Owner, ...] = ("kernel_io", "kernel_path", "kernel_slab", "kernel_other")
"""The kernel's time that is neither for memory nor for locks."""
_NAMES = {
    "cpython": "CPython's collector of cycles",
    "go": "Go's collector",
    "jvm": "The JVM's collector",
    "v8": "V8's collector",
}


def garbage_collection(facts: WallFacts) -> Suspicion | None:
    """A collector that runs beside the program or stops it. Allocation itself is not in it."""
    kind = next((each.kind for each in facts.wall.collections), "")
    part = max([facts.owner("collector"), *(_of_cpu(facts, each) for each in facts.wall.collections)])
    stopped = max([0.0, *(_stopped(facts, each) for each in facts.wall.collections)])
    weight = max(facts.of_busy(part), stopped)
    if weight <= 0:
        return None
    name = _NAMES.get(kind, "A collector")
    said = [Evidence(statement=_collected(facts, name, part), source="runtime")]
    if stopped > 0:
        said.append(
            Evidence(
                statement=f"It stopped the program for {units.percent(stopped)} of the time that passed: "
                "pauses cost waiting time, an allocator costs CPU time.",
                source="runtime",
            )
        )
    return Suspicion(
        cause="garbage collection",
        weight=weight,
        statements=said,
        remedies=remedies.against(facts, "garbage collection", runtime=kind),
    )


def own_lock(facts: WallFacts) -> Suspicion | None:
    """Threads that wait for each other by locks or conditions of the program."""
    if _hands_over_by_itself(facts):
        return None
    known = facts.allocator_lock
    part = facts.own_waiting
    if part < at.WAITING_WORTH:
        return None
    futex = (facts.wall.calls or {}).get("futex")
    said = f"Threads waited for each other for {units.percent(part)} of the program's time"
    if futex is not None:
        said += f"; the program called futex {units.number(futex.by_others, 'time')}"
        said += f", its allocator {units.count(futex.by_allocator)}"
    if known is None:
        said += "; the owner of the lock is unknown, and may be the allocator"
    turns = facts.wall.waiting.turns if facts.wall.waiting else 0
    if turns:
        said += f". {turns} threads had work, and used the time of one core together, as under one lock"
    return Suspicion(
        cause="a lock of its own",
        weight=part if known is not None else part / 2,
        statements=[Evidence(statement=f"{said}.", source="kernel")],
        remedies=remedies.by_hand(
            "hold the lock for a shorter time, or split what it guards", "more threads make it worse"
        ),
    )


def kernel_io(facts: WallFacts) -> Suspicion | None:
    """CPU time in the kernel that is neither for memory nor for locks: system calls of the program."""
    inside = sum(facts.owner(name) for name in _OF_CALLS)
    part = facts.of_busy(inside)
    if part < at.WAITING_WORTH:
        return None
    calls = [f"{name} {units.percent(count / facts.samples)}" for name, count in _most(facts)]
    named = f", most of it in {', '.join(calls)}" if calls else ""
    return Suspicion(
        cause="kernel input and output",
        weight=part,
        statements=[
            Evidence(
                statement=f"{units.percent(inside)} of CPU time was in the kernel, in system calls of the "
                f"program{named}.",
                source="sampling",
            )
        ],
        remedies=remedies.by_hand(
            "fewer system calls, each for more", "strace -c -f counts them by name", metric="cpu"
        ),
    )


def _most(facts: WallFacts) -> list[tuple[str, int]]:
    """The system calls with most samples, those for memory and locks left out."""
    passed = {"fault", "unknown", "futex", "brk", "mmap", "munmap", "mremap", "madvise"}
    return [each for each in facts.wall.kernel_time.calls.items() if each[0] not in passed][:3]


def disk(facts: WallFacts) -> Suspicion | None:
    """Waiting for a disk."""
    return _waits(
        facts, "disk", "write and sync less often, or in larger pieces", "an allocator changes nothing here"
    )


def network(facts: WallFacts) -> Suspicion | None:
    """Waiting for the other side of a connection."""
    return _waits(
        facts,
        "network",
        "as a client: request more at once, or several things concurrently; as a server: give it more load",
        "the time is spent on the other side",
    )


def _waits(facts: WallFacts, what: str, name: str, expect: str) -> Suspicion | None:
    part = facts.waiting_part(what)
    if part < at.WAITING_WORTH:
        return None
    seconds = units.duration(facts.waits(what))
    of = f"{units.duration(facts.cpu)} of CPU time and {units.duration(facts.elapsed)} in all"
    return Suspicion(
        cause="disk" if what == "disk" else "network",
        weight=part,
        statements=[
            Evidence(statement=f"The program waited {seconds} for the {what}, of {of}.", source="kernel")
        ],
        remedies=remedies.by_hand(name, expect),
    )


def _hands_over_by_itself(facts: WallFacts) -> bool:
    """Whether a collector with threads of its own is at work, whose waits for each other look like locks."""
    kinds = {each.kind for each in facts.wall.collections}
    collecting = garbage_collection(facts)
    return (
        bool(kinds & {"go", "jvm", "v8"}) and collecting is not None and collecting.weight >= at.CAUSE_WORTH
    )


def _of_cpu(facts: WallFacts, held: Collector) -> float:
    seconds = held.cpu_seconds or 0.0
    whole = held.of_cpu_seconds or facts.cpu
    return min(1.0, max(0.0, seconds) / whole) if whole > 0 else 0.0


def _stopped(facts: WallFacts, held: Collector) -> float:
    seconds = held.pause_seconds or 0.0
    whole = held.of_seconds or facts.elapsed
    return min(1.0, max(0.0, seconds) / whole) if whole > 0 else 0.0


def _collected(facts: WallFacts, name: str, part: float) -> str:
    counts = [each.count for each in facts.wall.collections if each.count is not None]
    times = f"ran {units.number(sum(counts), 'time')} and " if counts else ""
    return f"{name} {times}took {units.percent(part)} of CPU time."


RULES: tuple[Rule, ...] = (garbage_collection, own_lock, kernel_io, disk, network)
