"""The sentences of a verdict on the wall. Every figure comes from the facts; nothing here decides."""

from reap.answer import words
from reap.answer.records import Evidence
from reap.base import units
from reap.wall.judge.facts import WallFacts
from reap.wall.judge.records import OF_MEMORY, OF_THE_ALLOCATOR, Cause, Metric, Regime, Suspicion
from reap.wall.judge.remedies import at_most

_CAUSES: dict[Cause, str] = {
    "tcache overflow": "each thread's cache for freed blocks overflows, so that calls take the slow path",
    "large blocks": "most blocks are larger than a thread's cache keeps, so that calls take the slow path",
    "arena lock": "threads wait for the allocator's lock",
    "brk thrash": "the heap shrinks and grows again all the time (brk)",
    "mmap thrash": "blocks are mapped from the kernel and unmapped one by one (mmap)",
    "page faults": "pages come fresh from the kernel",
    "clearing and copying": "blocks are cleared for calloc, or copied for realloc",
    "many allocations": "it allocates much, and the allocator does it fast",
    "pin at the top": "free memory stays resident below a block that is in use",
    "growing memory": "its memory grows until the end",
    "lazy free": "memory that was given back still counts as resident",
    "garbage collection": "a garbage collector takes its time",
    "parsing": "it reads text, on the processor",
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
        said.append(
            f"That is about {units.percent(first.weight)} of its time, which no allocator makes shorter."
        )
    if first.cause not in OF_THE_ALLOCATOR and regime in _SIDES:
        # What holds it back most is another thing than what the regime is about.
        said[0] = f"{_CAUSES[first.cause][0].upper()}{_CAUSES[first.cause][1:]}."
        said.append(f"Beside that, it is {regime}.")
    if others:
        listed = words.listed([f"{_CAUSES[each.cause]} ({units.percent(each.weight)})" for each in others])
        said.append(f"Also, {listed}.")
    return " ".join(said)


def nothing(facts: WallFacts) -> str:
    """Where no cause is worth a change."""
    if facts.share is None:
        return (
            "This program hardly uses the processor, and waits for nothing that was recognised: neither a "
            "lock, nor a disk, nor the network."
        )
    return (
        f"{_REGIMES['not the wall']}: {units.percent(facts.memory_part)} of its CPU time goes to "
        "memory, and it waits for nothing. Its time is its own work; a CPU profile says where it goes."
    )


def evidence(facts: WallFacts) -> list[Evidence]:
    """What is said beside every verdict."""
    wall, said = facts.wall, []
    if wall.share is not None and facts.share is not None:
        said.append(
            Evidence(
                statement=f"{words.share(wall.share, 'The program')}. "
                "Sampling reads low, by 7 points in the mean.",
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
    return f"the right remedy takes {at_most(first.saves, metric)}"
