"""The sentences of a verdict on the wall. Every figure comes from the facts; nothing here decides."""

from reap.answer import words
from reap.answer.records import Evidence
from reap.base import units
from reap.evidence.judge import thresholds as at
from reap.evidence.judge.facts import WallFacts
from reap.evidence.judge.records import OF_MEMORY, OF_THE_ALLOCATOR, Cause, Metric, Regime, Suspicion
from reap.evidence.judge.remedies import at_most

_CAUSES: dict[Cause, str] = {
    "tcache overflow": "the per-thread cache of freed blocks overflows, so calls take the slow path",
    "large blocks": "most blocks are too large for the thread cache, so calls take the slow path",
    "arena lock": "threads wait for the allocator's lock",
    "brk thrash": "the heap keeps shrinking and growing again (brk)",
    "mmap thrash": "blocks are mapped from the kernel and unmapped one by one (mmap)",
    "page faults": "the program keeps faulting in fresh pages",
    "clearing and copying": "blocks are cleared for calloc, or copied for realloc",
    "many allocations": "it makes many allocations, and the allocator serves them fast",
    "pin at the top": "free memory stays resident below a block that is in use",
    "growing memory": "its memory grows until the end",
    "lazy free": "memory returned with MADV_FREE still counts as resident",
    "garbage collection": "garbage collection takes time",
    "parsing": "it spends CPU time parsing text",
    "a lock of its own": "its threads wait for each other",
    "disk": "it waits for the disk",
    "network": "it waits for the network",
}

_REGIMES: dict[Regime, str] = {
    "not the wall": "This program is not at the allocator's wall",
    "left of the knee": "This program is left of the knee",
    "right of the knee": "This program is right of the knee",
    "inconclusive": "Whether this program is at the allocator's wall could not be determined",
}

_SIDES: tuple[Regime, ...] = ("left of the knee", "right of the knee")


def paragraph(facts: WallFacts, first: Suspicion, regime: Regime, others: list[Suspicion]) -> str:
    """The verdict in plain words."""
    said = [f"{_REGIMES[regime]}: {_CAUSES[first.cause]}."]
    if first.cause == "page faults" and facts.past_malloc is not None:
        said.append(f"That is about {units.percent(first.weight)} of its time; the memory is not malloc's.")
    elif first.cause in OF_THE_ALLOCATOR:
        said.append(f"That is about {units.percent(first.weight)} of its time; {_expect(first)}.")
    elif first.cause in OF_MEMORY:
        part = "grew in the second half of its time" if first.cause == "growing memory" else "costs no time"
        said.append(f"That is {units.percent(first.weight)} of its memory, and {part}.")
    else:
        said.append(f"That is about {units.percent(first.weight)} of its time, which no allocator reduces.")
    if first.cause not in OF_THE_ALLOCATOR and regime in _SIDES:
        # What holds it back most is another thing than what the regime is about.
        said[0] = f"{_CAUSES[first.cause][0].upper()}{_CAUSES[first.cause][1:]}."
        said.append(f"It is also {regime}.")
    if others:
        listed = words.listed([f"{_CAUSES[each.cause]} ({units.percent(each.weight)})" for each in others])
        said.append(f"Also, {listed}.")
    return " ".join(said)


def nothing(facts: WallFacts) -> str:
    """Where no cause is worth a change."""
    if facts.share is None:
        return (
            "This program uses hardly any CPU time, and no wait for a lock, a disk or the network was "
            "recognised."
        )
    waits = "and it waits for nothing. Its time is its own work"
    used = facts.cpu / facts.elapsed if facts.elapsed > 0 else 1.0
    if used < at.MOSTLY_BUSY:
        waits = (
            f"and no wait for a lock, a disk or the network takes much. It used {units.percent(used)} of the "
            "time of one core; in the rest it slept, or waited for a processor. The time that it used is its "
            "own work"
        )
    return (
        f"{_REGIMES['not the wall']}: {units.percent(facts.memory_part)} of its CPU time goes to "
        f"memory, {waits}; a CPU profile says where it goes."
    )


def evidence(facts: WallFacts) -> list[Evidence]:
    """What is said beside every verdict."""
    wall, said = facts.wall, []
    if wall.share is not None and facts.share is not None:
        said.append(
            Evidence(
                statement=f"{words.share(wall.share, 'The program')}. "
                "Where the truth is known, such shares were off by up to 8 percentage points.",
                source="sampling",
            )
        )
    if wall.requests.unit and wall.requests.per_request is not None:
        said.append(
            Evidence(
                statement=f"It made {units.number(wall.requests.per_request, 'allocation')} for each "
                f"{wall.requests.unit} ({units.count(wall.requests.count)} of them).",
                source="recording",
            )
        )
    if facts.kernel_part > 0:
        said.append(
            Evidence(
                statement=f"{units.count(wall.faults.minor)} minor and {units.count(wall.faults.major)} "
                "major page faults.",
                source="kernel",
            )
        )
    return said


def _expect(first: Suspicion) -> str:
    # Who waits for a lock is off the processor.
    metric: Metric = "wall" if first.cause == "arena lock" else "cpu"
    return f"with the right remedy it takes {at_most(first.saves, metric)}"
