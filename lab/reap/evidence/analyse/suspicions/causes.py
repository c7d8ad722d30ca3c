"""The causes that are the allocator's: from facts to suspicions, one small function each."""

from collections.abc import Callable

from reap.answer import words
from reap.answer.records import Evidence
from reap.base import units
from reap.evidence.analyse.suspicions import remedies
from reap.evidence.analyse.suspicions import thresholds as at
from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.records import Cause, Remedy, Suspicion

Rule = Callable[[WallFacts], Suspicion | None]


def arena_lock(facts: WallFacts) -> Suspicion | None:
    """Threads that wait for the lock of an arena."""
    waited = facts.allocator_lock
    futex = facts.calls("futex") or 0
    if waited is None or waited < at.LOCK_WORTH:
        return None
    # While some wait, the others run on the allocator's slow path, which the lock guards.
    weight = min(1.0, waited + facts.of_busy(facts.own_part + facts.locking_part))
    said = f"Threads waited for the allocator's lock for {units.percent(waited)} of the program's time"
    if futex:
        said += f", and it called futex {units.number(futex, 'time')} for that"
    return Suspicion(
        cause="arena lock",
        weight=weight,
        statements=[_kernel(f"{said}.")],
        probes=remedies.probes(facts, "arenas"),
        remedies=remedies.against(facts, "arena lock", metric="wall"),
    )


def brk_thrash(facts: WallFacts) -> Suspicion | None:
    """A heap that shrinks and grows again."""
    brk, mappings = facts.calls("brk") or 0, facts.calls("mmap", "munmap", "mremap") or 0
    if not facts.thrashes or brk < mappings:
        return None
    return _thrash(facts, "brk thrash", f"brk {units.number(brk, 'time')}")


def mmap_thrash(facts: WallFacts) -> Suspicion | None:
    """Blocks that are mapped and unmapped one by one."""
    brk, mappings = facts.calls("brk") or 0, facts.calls("mmap", "munmap", "mremap", "madvise") or 0
    if not facts.thrashes or mappings <= brk:
        return None
    counted = ", ".join(
        f"{name} {units.number(times, 'time')}"
        for name in ("mmap", "munmap", "mremap", "madvise")
        if (times := facts.calls(name))
    )
    return _thrash(facts, "mmap thrash", counted)


def page_faults(facts: WallFacts) -> Suspicion | None:
    """Pages that come fresh from the kernel, few calls for many of them."""
    if facts.thrashes or facts.kernel_part <= 0:
        return None
    weight = facts.of_busy(facts.kernel_part)
    if facts.past_malloc is not None:
        return _faults_past_malloc(facts, facts.past_malloc, weight)
    faults = f"{units.count(facts.wall.faults.minor)} minor page faults"
    part = f"{units.percent(facts.kernel_part)} of CPU time went to pages fresh from the kernel"
    said = [_kernel(f"{part} ({faults}).")]
    if not facts.sees_kernel:
        said = [_kernel(f"About {part}, by their number ({faults}): the kernel's time was not sampled.")]
    if facts.wall.calls is None:
        said.append(
            _kernel(
                "Without counts of system calls, brk or mmap thrash is not excluded; --calls counts them."
            )
        )
    again = facts.turnover is None or facts.turnover >= at.TURNOVER
    if facts.turnover is not None:
        how = "it returns memory and requests it again" if again else "it grows, which no cache helps"
        times = units.ratio(facts.turnover)
        said.append(_kernel(f"It obtained {times} times its peak memory from the kernel: {how}."))
    found = remedies.against(facts, "page faults")
    return Suspicion(
        cause="page faults",
        weight=weight,
        statements=said,
        remedies=[each for each in found if again or each.name not in remedies.KEEPING],
    )


def _faults_past_malloc(facts: WallFacts, fresh: int, weight: float) -> Suspicion:
    """Pages of a runtime's heap, or of the program's own mappings, which no setting of malloc reaches."""
    asked = facts.wall.counted.bytes if facts.wall.counted else 0
    part = f"{units.percent(facts.kernel_part)} of CPU time went to pages fresh from the kernel"
    return Suspicion(
        cause="page faults",
        weight=weight,
        statements=[
            _kernel(
                f"{part}. They amount to {units.size(fresh)}; malloc allocated only {units.size(asked)} in "
                "all. They are a runtime's heap, the program's own mappings, or copies after a fork, "
                "which no malloc affects."
            )
        ],
        remedies=[each for each in remedies.against(facts, "page faults") if not each.can_be_tried],
    )


def small_pages(facts: WallFacts) -> Suspicion | None:
    """So much memory that huge pages may save misses of page tables, which nothing here sees."""
    resident = facts.wall.resident
    peak = resident.late or resident.peak
    if peak < at.LARGE_RESIDENT or not facts.on_glibc:
        return None
    return Suspicion(
        cause="small pages",
        weight=at.WORTH_TRYING,
        statements=[_kernel(f"{units.size(peak)} were resident in pages of 4 KiB.")],
        remedies=remedies.against(facts, "small pages"),
    )


def filling(facts: WallFacts) -> Suspicion | None:
    """Blocks that the allocator clears for calloc, or copies for realloc."""
    part = facts.filling_part
    if part <= 0:
        return None
    calls = facts.wall.counted.calls if facts.wall.counted else {}
    called = [f"{name} {units.count(calls[name])} times" for name in ("calloc", "realloc") if calls.get(name)]
    said = f"{units.percent(part)} of CPU time was in memset for calloc, or in memcpy for realloc"
    said += f"; the program called {' and '.join(called)}" if called else ""
    return Suspicion(
        cause="clearing and copying",
        weight=facts.of_busy(part),
        statements=[_sampling(f"{said}.")],
        remedies=remedies.against(facts, "clearing and copying"),
    )


def tcache_overflow(facts: WallFacts) -> Suspicion | None:
    """An allocator on its slow path, with no call to the kernel to blame."""
    pair = facts.pair
    if pair is None or not facts.past_the_knee:
        return None
    large = facts.large_blocks > at.FREE_PART
    why = (
        f"{units.percent(facts.large_blocks)} of all blocks are larger than glibc's thread cache keeps"
        if large
        else "that is the cost when more blocks of one size are free than the thread cache holds"
    )
    if facts.slow_part is not None:
        why = f"{units.percent(facts.slow_part)} of these samples are on its slow path; {why}"
    cause: Cause = "large blocks" if large else "tcache overflow"
    return Suspicion(
        cause=cause,
        weight=facts.of_busy(facts.own_part),
        statements=[*_cost(facts), _sampling(f"{_fast_path(facts)}; {why}.")],
        probes=remedies.probes(facts, "cache"),
        remedies=remedies.against(facts, cause),
    )


def unseen_glibc(facts: WallFacts) -> Suspicion | None:
    """Glibc's malloc in a static program without names, of which a setting shows what no sample does."""
    if not any(each.how == "static" and each.allocator == "glibc" for each in facts.wall.linked):
        return None
    said = "It is static and has no names: what glibc's malloc takes of its time is not seen."
    return Suspicion(
        cause="tcache overflow",
        weight=at.WORTH_TRYING,
        statements=[_sampling(said)],
        remedies=remedies.against(facts, "tcache overflow"),
    )


def many_allocations(facts: WallFacts) -> Suspicion | None:
    """An allocator that is busy, on its fast path or on one that is not known."""
    pair = facts.pair
    if facts.share is None or facts.own_part <= 0 or facts.past_the_knee:
        return None
    said = _cost(facts) if pair is not None else []
    if not said:
        why = "allocations were not counted"
        if facts.in_front:
            why = f"most of that time is in {facts.in_front}'s own allocator, whose blocks were not counted"
        said = [_sampling(f"What a block costs is not known, since {why}.")]
    said += _uncached(facts)
    return Suspicion(
        cause="many allocations",
        weight=facts.of_busy(facts.own_part),
        statements=said,
        probes=remedies.probes(facts, "recycle", "bump"),
        remedies=remedies.against(facts, "many allocations"),
    )


def _uncached(facts: WallFacts) -> list[Evidence]:
    """Evidence of why most blocks bypass the thread cache; empty where that is not known."""
    counted = facts.wall.counted
    if counted is None or not facts.uncached:
        return []
    elsewhere = counted.freed_elsewhere.value if counted.freed_elsewhere else 0.0
    said = {
        "aligned": f"{units.percent(counted.aligned / facts.allocations)} of all blocks were requested with "
        "an alignment, which glibc's thread cache does not serve.",
        "elsewhere": f"{units.percent(elsewhere)} of the freed blocks were freed by another thread than the "
        "one that allocated them.",
        "resized": f"The size of a block was changed {units.count(counted.reallocs)} times, which no cache "
        "serves.",
    }
    return [Evidence(statement=said[facts.uncached], source="recording")]


def pin_at_the_top(facts: WallFacts) -> Suspicion | None:
    """Free memory that one block keeps from going back."""
    held, resident = facts.wall.resident.trimmable, facts.wall.resident
    if held is None or not facts.on_glibc:
        return None
    found = remedies.against(facts, "pin at the top", metric="resident")
    return _held(
        "pin at the top",
        held,
        max(resident.late or resident.end, held),
        "is free, but glibc returns only memory above the last block in use",
        # A call at the right place is the likeliest to help.
        sorted(found, key=lambda each: each.can_be_tried),
    )


def growth(facts: WallFacts) -> Suspicion | None:
    """Memory that grows until the end: a leak, or what the program keeps."""
    grown = facts.wall.growth
    if grown is None:
        return None
    return Suspicion(
        cause="growing memory",
        weight=1 - grown.half / grown.end if grown.end > 0 else 0.0,
        statements=[Evidence(statement=words.growth(grown), source="recording")],
        remedies=remedies.by_hand(
            "free the blocks, or reset the pool that they belong to, after each unit of work"
            if grown.chunk
            else "free what is no longer needed, or bound the cache",
            "no allocator and no setting returns memory in use",
            metric="resident",
        ),
    )


def lazy_free(facts: WallFacts) -> Suspicion | None:
    """Pages returned with MADV_FREE and not yet reclaimed."""
    held, resident = facts.wall.resident.lazy_free, facts.wall.resident
    if held is None:
        return None
    return _held(
        "lazy free",
        held,
        max(resident.late or resident.end, held),
        "was returned with MADV_FREE: it counts as resident until the kernel reclaims it",
        remedies.against(facts, "lazy free", metric="resident"),
    )


def _held(cause: Cause, held: int, whole: int, said: str, help_by: list[Remedy]) -> Suspicion | None:
    part = held / whole if whole > 0 else 0.0
    if held < at.FREE_BYTES or part < at.FREE_PART:
        return None
    return Suspicion(
        cause=cause,
        weight=part,
        statements=[_kernel(f"{units.size(held)} of {units.size(whole)} resident {said}.")],
        remedies=help_by,
    )


def _thrash(facts: WallFacts, cause: Cause, counted: str) -> Suspicion:
    said = f"The allocator called {counted}: {units.count(facts.calls_a_second)} a second of CPU time"
    if facts.turnover is not None:
        said += (
            f", and the program obtained {units.ratio(facts.turnover)} times its peak memory from the kernel"
        )
    return Suspicion(
        cause=cause,
        # The allocator's own code runs as often where the memory is kept, but does not wait for fresh pages.
        weight=facts.of_busy(facts.kernel_part + facts.own_past_the_knee),
        statements=[
            _kernel(f"{said}."),
            _sampling(f"{units.percent(facts.kernel_part)} of CPU time was in the kernel for that."),
        ],
        remedies=remedies.against(facts, cause),
    )


def _fast_path(facts: WallFacts) -> str:
    fast, usual = facts.fast_pair * 1e9, facts.costs.usual_pair * 1e9
    where = "on this machine" if facts.costs.measured else "by default, not measured on this machine"
    return f"On the fast path it is {fast:.0f} to {usual:.0f} ns ({where})"


def _cost(facts: WallFacts) -> list[Evidence]:
    if facts.pair is None:
        return []
    return [
        _sampling(
            f"A block costs {units.duration(facts.pair)} in the allocator, from malloc to free "
            f"({units.count(facts.allocations)} of them)."
        )
    ]


def _kernel(text: str) -> Evidence:
    return Evidence(statement=text, source="kernel")


def _sampling(text: str) -> Evidence:
    return Evidence(statement=text, source="sampling")


RULES: tuple[Rule, ...] = (
    arena_lock,
    brk_thrash,
    mmap_thrash,
    page_faults,
    small_pages,
    filling,
    tcache_overflow,
    unseen_glibc,
    many_allocations,
    pin_at_the_top,
    growth,
    lazy_free,
)
